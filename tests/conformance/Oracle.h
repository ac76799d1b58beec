//===- Oracle.h - exact arithmetic against the declared bounds ------------===//
#pragma once

#include "tests/conformance/Problem.h"

namespace writ::test {

/// The largest error of any output element, in units of the bound that the contract declares for
/// it: the problem's outputs against MPFR. At most 1 where the contract is kept; a NaN counts as
/// infinite.
double worstErrorOverBound(Problem &problem);

/// The relative error that functions.json declares for a binary32 function (2 ulp where it does
/// not).
double relativeErrorOf(const nlohmann::json &functions, const std::string &name);

} // namespace writ::test
