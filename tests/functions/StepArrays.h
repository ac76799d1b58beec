//===- StepArrays.h - the steps of functions.json over arrays -------------===//
//
// The reference interprets a function one argument at a time, to be read; 2^32 arguments need a
// loop for each operation instead. The trees are the reference's, the arithmetic is written here
// anew, and a test holds the two against each other.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/Reference/Expression.h"

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

namespace writ::test {

/// A value for each argument of a block: numbers, or the integers of bit patterns.
struct StepArray {
  std::vector<float> number;
  std::vector<int64_t> integer;
  bool isInteger() const { return number.empty(); }
};

/// One function from binary32 to binary32 of functions.json.
class StepArrays {
public:
  static constexpr size_t kBlock = 2048;

  StepArrays(const nlohmann::json &functions, const std::string &name);
  /// out[i] is the function at x[i], for up to kBlock arguments. Not for several threads at once.
  void evaluate(std::span<const float> x, std::span<float> out);

  /// Whether an entry of functions.json has one binary32 argument and one binary32 result.
  static bool isBinary32(const nlohmann::json &function);
  /// Whether its error is counted in units of binary32 besides: not where a step rounds to
  /// binary16 (HalfSweep.h).
  static bool isSwept(const nlohmann::json &function);

private:
  using Node = reference::ExpressionNode;
  using Array = std::shared_ptr<const StepArray>;
  struct Named {
    std::string name;
    reference::Expression expression;
  };
  struct Special {
    reference::Expression condition, result;
  };

  Array evaluate(const Node &node);
  Array apply(const Node &node, const std::vector<Array> &v);
  Array constant(const Node &node);
  Array uniform(const reference::Value &value) const;

  std::string argument, result;
  std::vector<Named> steps;
  std::vector<Special> specials;
  std::map<std::string, Array> constants, variables;
  std::map<const Node *, Array> literals;
  std::map<std::string, std::unique_ptr<StepArrays>> others;
};

/// The entry of functions.json; an unknown name throws.
const nlohmann::json &functionNamed(const nlohmann::json &functions, const std::string &name);

} // namespace writ::test
