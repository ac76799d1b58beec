//===- OracleOps.h - exact norms, activations, caps, sums, rotations ------===//
#pragma once

#include "tests/conformance/Mpfr.h"
#include "tests/conformance/Problem.h"

#include <functional>

namespace writ::test {

/// Compares one element of a result with its exact value and the variables of its bound.
using JudgeElement = std::function<void(double computed, const Real &exact,
                                        const std::map<std::string, double> &variables)>;

/// Judges every element of the problem's result; false for a family that stands elsewhere.
/// `declared` is the contract as registered, whatever the problem's copy says.
bool judgeRowOp(Problem &problem, const nlohmann::json &declared, const JudgeElement &judge);

} // namespace writ::test
