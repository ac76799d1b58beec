//===- Bound.h - the error bound that a contract declares -----------------===//
//
//   sum := product (('+' | '-') product)*      product := unary (('*' | '/') unary)*
//   unary := number | variable | name '(' sum (',' sum)* ')' | '(' sum ')'
//
// Functions: gamma(n) = n u / (1 - n u), max, min, ceil, ln, expm1. No entry uses it: bounds are
// there for who judges the entries.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/Reference/Reference.h"

namespace writ::reference {

inline constexpr double kUnitRoundoff = 0x1p-24, kLeastSubnormal = 0x1p-149;

/// The value of a contract's bound. `variables` must be those that the contract declares, without u
/// and eta, which have their one value.
double evaluateBound(const nlohmann::json &contract, std::map<std::string, double> variables);

/// The formula can be read, and its variables are those that the contract declares: u also where
/// gamma stands for it. Throws ContractError.
void checkBound(const nlohmann::json &contract);

} // namespace writ::reference
