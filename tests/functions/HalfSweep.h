//===- HalfSweep.h - a function of an argument rounded to binary16 --------===//
//
// Where the steps read the argument x as rn16(x) alone, and give a binary16 value, the error counts
// in units of binary16 and 65,536 results are all that there are: one for each binary16 h. Of any
// other binary32 the result is that of the steps for the nearest h, or a special case's. Which of
// the two changes inside of a rounding interval only where a special case begins, so that each h
// is looked at by itself and at both ends of its interval.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/functions/Sweep.h"

namespace writ::test {

/// Whether a function of functions.json rounds its argument to binary16 before anything else.
bool roundsItsArgument(const nlohmann::json &function);

struct HalfSweepOptions {
  uint64_t decideEvery = 1; ///< beside the largest errors MPFR decides one in so many results
};

/// The digest is of the 65,536 results at the binary16 arguments in the order of their bits, as
/// binary32, little-endian, a NaN as 0x7fc00000. max_ulp is in units of binary16.
SweepResult sweepHalves(const nlohmann::json &functions, const std::string &name,
                        const std::vector<Production> &production, const HalfSweepOptions &options);

/// The record of such a function, and why a sweep is not what record and functions.json say, or "".
void writeHalfRecord(const nlohmann::json &functions, const std::string &name,
                     const SweepResult &all);
std::string differenceFromHalfRecord(const nlohmann::json &functions, const std::string &name,
                                     const SweepResult &all);

} // namespace writ::test
