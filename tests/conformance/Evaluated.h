//===- Evaluated.h - problems that the reference has evaluated ------------===//
//
// The reference is slow, and what it gives is the same for every body, split and number of threads:
// tests of one group that run one after the other in a process share its results.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/conformance/Shapes.h"

namespace writ::test {

class Evaluated {
public:
  /// The problem, evaluated. Those of another group than the last call's are forgotten.
  Problem &get(const std::string &group, const std::string &contract, const Shape &shape,
               const ProblemOptions &options);

private:
  std::string current;
  std::map<std::string, std::unique_ptr<Problem>> problems;
};

/// A seed that is the same wherever the same inputs are meant.
uint64_t seedOf(const std::string &contract, const Shape &shape, Fill fill);

} // namespace writ::test
