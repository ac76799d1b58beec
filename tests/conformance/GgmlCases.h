//===- GgmlCases.h - the ops of the `ggml` profile, beside ggml's own ------===//
//
// One list of inputs for two evaluators: the reference, and ggml's CPU backend through the program
// of tests/oracles/ggml_oracle.cpp. What ggml answered stands in tests/data/ggml/ops.json.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/conformance/Problem.h"

#include <functional>

namespace writ::test {

struct GgmlCase {
  std::string name;
  std::string contract;                  ///< that the case is about, the last one of a chain
  std::vector<std::string> through = {}; ///< those before it in a chain
  bool isExact = true;                   ///< the contract states ggml's order: the same bits
  nlohmann::json op; ///< as ggml-oracle reads it; an input's "offset" counts from `bytes`' start
  std::vector<std::byte> bytes; ///< of the inputs
  /// What the reference makes of them; binary32 values, or rows of codes.
  std::function<std::vector<std::byte>()> evaluate;
  /// Where libm decides: how far value i may be from ggml's, given the reference's.
  std::function<double(size_t i, float mine)> tolerance;
  std::shared_ptr<Problem> problem; ///< that `evaluate` runs, the last one of a chain
  std::string storage;              ///< of the result
  int64_t width = 0;                ///< of a row of the result
};

/// All cases, always the same.
std::vector<GgmlCase> ggmlCases();

/// NaN payloads are no part of a result: binary32 and binary16 NaN become 0x7fc00000 and 0x7e00.
std::vector<std::byte> canonical(std::vector<std::byte> bytes, const std::string &storage,
                                 int64_t width);

} // namespace writ::test
