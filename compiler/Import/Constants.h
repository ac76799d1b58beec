//===- Constants.h - numbers that are fixed when compiling ----------------===//
//
// Correctly rounded with MPFR, so that no libm takes part: the same model gives the same constants
// on every machine (docs/decisions).
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <vector>

namespace writ {

/// base^(-2i/dimensions) for i < dimensions / 2, each the nearest binary64.
std::vector<double> ropeFrequencies(double base, int64_t dimensions);

/// 1 / sqrt(n), rounded once to binary32; n > 0.
float reciprocalSqrt(int64_t n);

} // namespace writ
