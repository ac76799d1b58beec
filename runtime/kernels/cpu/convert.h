//===- convert.h - binary16 and bfloat16, one scalar at a time ------------===//
//
// Widening is exact; narrowing rounds to nearest, ties to even, and overflows to infinity.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/math.h"

namespace {

inline float floatFromHalf(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t magnitude = half & 0x7fffu;
  if (magnitude >= 0x7c00u) // infinity, NaN
    return floatFromBits(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  if (magnitude < 0x400u) // subnormal: an integer times 2^-24
    return floatFromBits(sign | bitsOfFloat(static_cast<float>(magnitude) * 0x1p-24f));
  return floatFromBits(sign | ((magnitude << 13) + (112u << 23)));
}

inline uint16_t halfFromFloat(float value) {
  const uint32_t bits = bitsOfFloat(value);
  const uint32_t sign = bits >> 16 & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return static_cast<uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) // 65520 and above round to infinity
    return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x38800000u) // below 2^-14: adding 1/2 rounds to a multiple of 2^-24
    return static_cast<uint16_t>(
        sign | (bitsOfFloat(floatFromBits(magnitude) + 0.5f) - bitsOfFloat(0.5f)));
  const uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
  return static_cast<uint16_t>(sign | ((rounded - (112u << 23)) >> 13));
}

inline float floatFromBfloat(uint16_t value) {
  return floatFromBits(static_cast<uint32_t>(value) << 16);
}

inline uint16_t bfloatFromFloat(float value) {
  const uint32_t bits = bitsOfFloat(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return static_cast<uint16_t>((bits >> 16 & 0x8000u) | 0x7fc0u);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

} // namespace
