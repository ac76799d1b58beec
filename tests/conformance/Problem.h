//===- Problem.h - one op with its contract, inputs and outputs -----------===//
#pragma once

#include "ir/Reference/Reference.h"
#include "tests/conformance/Fill.h"

#include <memory>

namespace writ::test {

using Dimensions = std::map<std::string, int64_t>;

/// A call of the reference that owns what it points to. Contract, vocabulary and functions are
/// copies, so that a test can alter a word and see that it matters.
struct Problem {
  nlohmann::json contract, vocabulary, functions;
  reference::Call call;
  std::map<std::string, Buffer> buffers; ///< by operand
  reference::KvState kv;

  Problem() = default;
  Problem(const Problem &) = delete;
  Problem &operator=(const Problem &) = delete;

  std::string family() const { return contract["family"]; }
  /// Evaluates by the reference into poisoned outputs.
  void evaluate();
  /// Operands of kind "output".
  std::vector<std::string> outputs() const;
  std::span<float> floats(const std::string &operand);
  /// The elements of an operand of any scalar storage.
  std::vector<float> values(const std::string &operand) const;
  /// Element `index` of an operand of scalars of any storage, exact.
  float element(const std::string &operand, int64_t index) const;
};

struct ProblemOptions {
  Fill fill = Fill::plain;
  uint64_t seed = 1;
  bool bias = true;
  std::vector<int32_t> positions = {}; ///< of the rows; empty: some of each kind
  int64_t window = 40;                 ///< of the KV state, where the contract's mask has one
  int64_t workers = 1;                 ///< of the call's schedule
};

/// Operands of the shapes that the dimensions give, filled; rows of three sequences; for attention
/// a KV state that reaches every row's position.
std::unique_ptr<Problem> makeProblem(const std::string &contract, const Dimensions &dimensions,
                                     const ProblemOptions &options);

/// The same of a contract that need not be registered, over words that may not be either.
std::unique_ptr<Problem> makeProblemOf(const nlohmann::json &contract, const Dimensions &dimensions,
                                       const ProblemOptions &options,
                                       const nlohmann::json &vocabulary = Data::get().vocabulary);

/// Whether a query of the contract sees no more than the window of its KV state.
bool isWindowed(const nlohmann::json &contract);

/// How many values of a row share a scale, where the op or the last of its parts makes codes of
/// blocks; else 0.
int64_t sharedScale(const nlohmann::json &contract);

/// The shape of an operand of a family.
std::vector<int64_t> shapeOf(const std::string &family, const std::string &operand,
                             const Dimensions &dimensions);

} // namespace writ::test
