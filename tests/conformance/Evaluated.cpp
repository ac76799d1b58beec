//===- Evaluated.cpp - problems that the reference has evaluated ----------===//
#include "tests/conformance/Evaluated.h"

namespace writ::test {
namespace {

std::string keyOf(const std::string &contract, const Shape &shape, const ProblemOptions &options) {
  std::string key = contract + " " + nameOf(shape) + " " + nameOf(options.fill);
  for (const int64_t number : {static_cast<int64_t>(options.seed),
                               static_cast<int64_t>(options.bias), options.window, options.workers})
    key += " " + std::to_string(number);
  for (const int32_t position : options.positions)
    key += "," + std::to_string(position);
  return key;
}

} // namespace

Problem &Evaluated::get(const std::string &group, const std::string &contract, const Shape &shape,
                        const ProblemOptions &options) {
  if (group != current)
    problems.clear();
  current = group;
  std::unique_ptr<Problem> &problem = problems[keyOf(contract, shape, options)];
  if (!problem) {
    problem = makeProblem(contract, shape.dimensions, options);
    problem->evaluate();
  }
  return *problem;
}

uint64_t seedOf(const std::string &contract, const Shape &shape, Fill fill) {
  uint64_t hash = 0xcbf29ce484222325; // FNV-1a
  for (const char c : contract + nameOf(shape) + nameOf(fill))
    hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

} // namespace writ::test
