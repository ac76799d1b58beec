//===- Sample.h - a binary64 function over arguments that are chosen ------===//
//
// No one can take all 2^64 arguments. These are chosen by rules without chance, so that a record of
// the results can be made anew: patterns at equal distance up to the function's limit, what lies
// next to the multiples of pi / 2, where a reduction loses most, and the angles of rotary
// embedding. Every result is decided by MPFR.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/functions/Sweep.h"

namespace writ::test {

/// Whether the function is one of binary64: sampled, not swept.
bool isSampled(const nlohmann::json &function);

/// What the arguments are, for the record.
extern const char *const kSampledArguments;

/// Every stride-th of the arguments, in order; `largestBelow`, `decided` and `forms` as a sweep has
/// them. The reference's steps and the kernels' form must agree to the bit.
SweepResult sample(const nlohmann::json &functions, const std::string &name, uint64_t stride);

} // namespace writ::test
