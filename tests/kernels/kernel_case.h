//===- kernel_case.h - arguments for any provider, made from its map ------===//
//
// A case owns everything that a body reads and writes. The argument block is laid out from the
// map's `arguments`, so that a new provider of a known op family is tested without a new line here.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/kernels/instruction_sets.h"
#include "writ/kernel_table.h"
#include "writ/model_abi.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace writ::test {

using Bytes = std::vector<std::byte>;
using Random = std::mt19937_64;

/// What float inputs hold.
enum class Values {
  ordinary, ///< about 1
  tiny,     ///< zeros, subnormals, values near 1e-38
  large,    ///< up to 1e5, some up to 3e38
  special   ///< ordinary with NaN and infinities among them
};
constexpr Values kAllValues[] = {Values::ordinary, Values::tiny, Values::large, Values::special};

struct Output {
  std::string storage; ///< f32, f16, i32 or activation codes
  Bytes bytes, start;  ///< start: what it holds before a body runs
  int64_t k = 0;       ///< of activation codes
};

struct KernelCase {
  nlohmann::json map;
  std::string description;
  std::map<std::string, Bytes> inputs;     ///< by binding: "operand:q", "rows.token"; absent: null
  std::map<std::string, Output> outputs;   ///< by binding
  std::map<std::string, int64_t> integers; ///< "dim:rows", "kv.layer"
  std::map<std::string, float> floats;     ///< "attr:scale"
  writ_kv_view kv{};                       ///< planes are the outputs "k_plane", "v_plane"
  std::vector<Bytes> owned;                ///< what inputs point to
  bool writesKv = false;

  /// Sets outputs to their start and gives the argument block.
  std::vector<uint64_t> arguments();
  int64_t units() const;
};

/// Random sizes and values for a provider of a known family; null for an unknown one.
std::unique_ptr<KernelCase> makeCase(const std::string &providerId, Values values, uint64_t seed);

/// Runs a body over the units, split at random into `pieces` runs taken in random order, and
/// returns the outputs' bytes, NaNs as one NaN. Poison behind each output must be left alone.
std::map<std::string, Bytes> run(KernelCase &test, writ_body body, int pieces, Random &random);

nlohmann::json readMap(const std::string &providerId);
std::vector<std::string> providerIds();

// For the makers.
void fillFloats(Bytes &bytes, int64_t count, Values values, Random &random);
/// Rows of floats as activation codes, by the scalar body of the provider that makes them.
Bytes quantizeRows(const std::string &storage, int64_t rows, int64_t k, const Bytes &floats);
Bytes randomWeight(const std::string &storage, int64_t n, int64_t k, Values values, Random &random);

} // namespace writ::test
