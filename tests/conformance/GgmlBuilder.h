//===- GgmlBuilder.h - to make a case of ggml's ops -------------------------===//
#pragma once

#include "tests/conformance/GgmlCases.h"

namespace writ::test {

using Json = nlohmann::json;

inline const std::vector<Fill> kAllFills(std::begin(kFills), std::end(kFills));
/// All but `special`, which is the last.
inline const std::vector<Fill> kFiniteFills(std::begin(kFills), std::end(kFills) - 1);

/// ggml writes the K of its super-blocks large.
inline std::string ggmlType(std::string storage) {
  if (storage.ends_with("_k"))
    storage.back() = 'K';
  return storage;
}

struct GgmlBuilder {
  GgmlCase result;

  void input(const std::string &storage, const std::vector<int64_t> &shape,
             std::span<const std::byte> bytes) {
    result.op["inputs"].push_back(
        {{"type", ggmlType(storage)}, {"shape", shape}, {"offset", result.bytes.size()}});
    result.bytes.insert(result.bytes.end(), bytes.begin(), bytes.end());
  }
  void operand(const Problem &problem, const std::string &name) {
    const reference::Operand &operand = problem.call.operands.at(name);
    input(operand.storage, operand.shape, operand.bytes);
  }
};

inline std::string nameOfCase(const std::string &contract, const Dimensions &dimensions,
                              Fill fill) {
  std::string name = contract;
  for (const auto &[dimension, size] : dimensions)
    name += "." + dimension + std::to_string(size);
  return name + "." + nameOf(fill);
}

inline std::vector<std::byte> outputOf(Problem &problem) {
  problem.evaluate();
  const std::span<const std::byte> bytes = problem.buffers.at("out").bytes();
  return {bytes.begin(), bytes.end()};
}

/// A case of one contract whose op of ggml takes the operands named, in that order.
GgmlCase simpleCase(const std::string &contract, const Dimensions &dimensions, Fill fill,
                    const std::string &op, const std::vector<std::string> &operands,
                    const Json &parameters = Json::object());

void addGgmlLinear(std::vector<GgmlCase> &cases);
/// Norm, gates, embedding, residual, row selection, KV store.
void addGgmlPointwise(std::vector<GgmlCase> &cases);
/// What positions decide: RoPE and attention.
void addGgmlPositions(std::vector<GgmlCase> &cases);

} // namespace writ::test
