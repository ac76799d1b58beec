//===- Bound.h - the error bound that a contract declares -----------------===//
//
//   sum := product (('+' | '-') product)*      product := unary (('*' | '/') unary)*
//   unary := number | variable | name '(' sum (',' sum)* ')' | '(' sum ')'
//
// Functions: gamma(n) = n u / (1 - n u), max, min, ceil, ln, expm1.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace writ::test {

inline constexpr double kUnitRoundoff = 0x1p-24, kLeastSubnormal = 0x1p-149;

/// The value of a contract's bound. `variables` must be those that the contract declares, without u
/// and eta, which have their one value.
double evaluateBound(const nlohmann::json &contract, std::map<std::string, double> variables);

} // namespace writ::test
