//===- Oracle.h - exact arithmetic against the declared bounds ------------===//
#pragma once

#include "tests/conformance/Problem.h"

namespace writ::test {

/// A problem's outputs against MPFR.
struct Judgement {
  /// The largest error of any element, in units of the bound that the contract declares for it: at
  /// most 1 where the contract is kept. Infinite for a NaN, and where no element was judged.
  double worst = 0;
  int64_t judged = 0;     ///< elements
  int64_t outOfRange = 0; ///< elements of which the bound says nothing: too large for their storage
};
Judgement judgementOf(Problem &problem);

/// `worst` of that.
double worstErrorOverBound(Problem &problem);

/// The relative error that functions.json declares for a binary32 function (2 ulp where it does
/// not).
double relativeErrorOf(const nlohmann::json &functions, const std::string &name);

} // namespace writ::test
