//===- Scalar.h - binary16, bfloat16 and rounding words -------------------===//
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace writ::reference {

inline constexpr float infinity = std::numeric_limits<float>::infinity();

/// Exact.
float floatOfBinary16(uint16_t bits);
float floatOfBfloat16(uint16_t bits);
/// Nearest, ties to even; overflow to infinity, subnormals kept, a NaN stays one.
uint16_t binary16OfFloat(float value);
uint16_t bfloat16OfFloat(float value);

/// Zero of its sign for a subnormal, any other value as it is.
float flushed(float value);

/// A value put into a storage of fewer bits and taken out again; bfloat16Flushed flushes it first.
enum class Rounding { none, binary16, bfloat16, bfloat16Flushed };
float rounded(Rounding rounding, float value);

} // namespace writ::reference
