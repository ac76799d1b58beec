//===- AttentionOracle.h - exact attention and KV state -------------------===//
//
// The real-number results of the two families that share the KV state. Rounding an operand when it
// is read (`fp16_rounded`) is part of the op, so that the exact result is over the rounded one; all
// other arithmetic is exact.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/conformance/Mpfr.h"
#include "tests/conformance/Problem.h"

#include <functional>

namespace writ::test {

using Variables = std::map<std::string, double>;
/// One element of the output, its exact value, and the variables of the bound.
using JudgeElement =
    std::function<void(double computed, const Real &exact, const Variables &variables)>;

/// `declared` is the contract that the problem is judged by, whatever the problem's own says.
void attentionOracle(Problem &problem, const nlohmann::json &declared, const JudgeElement &judge);
void kvStoreOracle(Problem &problem, const nlohmann::json &declared, const JudgeElement &judge);

} // namespace writ::test
