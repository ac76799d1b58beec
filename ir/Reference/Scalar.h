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

} // namespace writ::reference
