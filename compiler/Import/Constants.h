//===- Constants.h - numbers that are fixed when compiling ----------------===//
//
// Correctly rounded with MPFR, so that no libm takes part: the same model gives the same constants
// on every machine (docs/decisions).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Import/RopeScaling.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace writ {

/// Whether there is a formula for a word of 'frequency_scaling'.
bool computesRopeScaling(std::string_view word);

/// base^(-2i/dimensions) for i < dimensions / 2, as the scaling changes it and divided by its
/// factors; each the nearest binary64 to the real number (words of 'frequency_scaling').
std::vector<double> ropeFrequencies(double base, int64_t dimensions, const RopeScaling &scaling);

/// What a dot of q and k is multiplied by: 1 / sqrt(n), times the square of the factor that the
/// scaling puts on each, rounded once to binary32; n > 0.
float scoreScale(int64_t n, const RopeScaling &scaling);
/// Whether that factor is not 1.
bool scalesScores(const RopeScaling &scaling);

} // namespace writ
