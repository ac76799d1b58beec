//===- ExactFunction.h - what a function of functions.json approximates ---===//
//
// The field `exact` of a function is a formula over the reals in its argument: + - * /, integers,
// pi and exp, log, log1p, sqrt, sin, cos, tanh, erf, erfc, abs. Binary64 screens, MPFR decides.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/Reference/Expression.h"
#include "tests/conformance/Mpfr.h"

#include <nlohmann/json.hpp>
#include <span>
#include <string>

namespace writ::test {

class ExactFunction {
public:
  /// `result` counts the results of the function.
  explicit ExactFunction(const nlohmann::json &function, size_t result = 0);

  /// By the C library's binary64, an estimate.
  void estimate(std::span<const float> x, std::span<double> out) const;
  double estimate(double x) const;
  Real decide(double x) const;

private:
  std::string argument;
  reference::Expression formula;
};

} // namespace writ::test
