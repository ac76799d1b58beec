//===- Scalar.cpp - binary16, bfloat16 and rounding words -----------------===//
#include "ir/Reference/Scalar.h"

#include <bit>
#include <cmath>

namespace writ::reference {
namespace {

/// m * 2^e, exact for the significands and exponents of binary16.
float scaled(float m, int e) {
  for (; e > 0; --e)
    m *= 2;
  for (; e < 0; ++e)
    m /= 2;
  return m;
}

} // namespace

float floatOfBinary16(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  const float sign = bits & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 31)
    return fraction ? std::numeric_limits<float>::quiet_NaN() : sign * infinity;
  if (exponent == 0) // subnormal: fraction * 2^-24
    return sign * scaled(static_cast<float>(fraction), -24);
  return sign * scaled(static_cast<float>(1024 + fraction), exponent - 25);
}

float floatOfBfloat16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

uint16_t binary16OfFloat(float value) {
  const uint16_t sign = std::bit_cast<uint32_t>(value) >> 31 ? 0x8000 : 0;
  if (value != value)
    return sign | 0x7e00;
  float magnitude = sign ? -value : value;
  if (magnitude >= 65520.0f) // half way between the largest finite value and 2^16
    return sign | 0x7c00;
  // The unit in the last place is 2^-24 below 2^-14, else 2^(e - 10) for 2^e <= magnitude.
  int exponent = -14;
  for (float power = 0x1p-13f; power <= magnitude; power *= 2)
    ++exponent;
  const int unit = exponent - 10;
  const int count =
      static_cast<int>(std::rint(scaled(magnitude, -unit))); // units, exact before rint
  // A carry of the fraction into the exponent field is what rounding up to a power of two means.
  return sign | static_cast<uint16_t>((exponent + 14) * 1024 + count);
}

uint16_t bfloat16OfFloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (value != value)
    return static_cast<uint16_t>(bits >> 16 | 0x40);
  // What is cut off is compared with half a unit; a carry runs into the exponent, as it should.
  const uint32_t kept = bits >> 16, cut = bits & 0xffff;
  return static_cast<uint16_t>(kept + (cut > 0x8000 || (cut == 0x8000 && kept % 2 == 1)));
}

float flushed(float value) {
  return std::fabs(value) < 0x1p-126f ? std::copysign(0.0f, value) : value;
}

float rounded(Rounding rounding, float value) {
  switch (rounding) {
  case Rounding::binary16:
    return floatOfBinary16(binary16OfFloat(value));
  case Rounding::bfloat16:
    return floatOfBfloat16(bfloat16OfFloat(value));
  case Rounding::bfloat16Flushed:
    return rounded(Rounding::bfloat16, flushed(value));
  case Rounding::none:
    break;
  }
  return value;
}

} // namespace writ::reference
