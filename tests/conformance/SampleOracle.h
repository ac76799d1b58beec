//===- SampleOracle.h - which tokens real arithmetic lets a draw give -----===//
//
// A draw is a row of decisions: which candidates are kept, and where the running sum passes the
// target. Here each is made in real numbers, with a generator of its own. A decision is open only
// where its two sides are nearer than the roundings of the contract's words can move them; a draw
// without an open decision has one token.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/conformance/Problem.h"

#include <set>

namespace writ::test {

/// The tokens that row `row` of a problem of family `sample` may draw by its contract: {-1} where
/// the logits are rejected.
std::set<int32_t> tokensOf(const Problem &problem, int64_t row);

} // namespace writ::test
