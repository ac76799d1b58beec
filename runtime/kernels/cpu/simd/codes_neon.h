//===- codes_neon.h - code vectors and exact dots with NEON ---------------===//
//
// A code vector's 64 bytes are four registers of four rows each. Stored codes are signed operands
// here: those of 4 to 6 bits fit as they are, bytes of 8 bits are centred. The products of four
// codes become a row's 32-bit sum
//   with dotprod    by one sdot
//   without         by smull (16 bits, exact), addp of neighbours (at most 2 * 128 * 127 = 32512,
//                   still 16 bits) and sadalp
// Integers, so that both give the same.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/simd/unrolled.h"
#include "writ/packed_layout.h"

#include <arm_neon.h>

namespace {

/// What is taken off a byte of 8 bits before it is multiplied; the rest of the bias comes off the
/// sum.
template <typename Format> constexpr bool kCentred = Format::kCodes.lowBits == 8;

/// Integers of a panel's 16 rows.
struct RowSums {
  int32x4_t q[4];
};

inline int8x16_t broadcastCodes(const int8_t *four) {
  int32_t codes;
  __builtin_memcpy(&codes, four, sizeof(codes));
  return vreinterpretq_s8_s32(vdupq_n_s32(codes));
}

/// The stored codes of rows 4i .. 4i + 3 of one group, 4 to a row. `place` counts from `vectors`
/// and, the high bits, from `highVectors`.
template <typename Format, writ::CodePlace place>
__attribute__((always_inline)) inline int8x16_t groupCodes(const uint8_t *vectors,
                                                           const uint8_t *highVectors, int64_t i) {
  constexpr writ::CodeBits codes = Format::kCodes;
  uint8x16_t low = vld1q_u8(vectors + place.low * writ::kVectorBytes + 16 * i);
  if constexpr (kCentred<Format>)
    return vreinterpretq_s8_u8(veorq_u8(low, vdupq_n_u8(128)));
  if constexpr (place.lowShift != 0)
    low = vshrq_n_u8(low, place.lowShift); // bytes: nothing of a neighbour comes in
  else
    low = vandq_u8(low, vdupq_n_u8(15));
  if constexpr (codes.highBits != 0) {
    uint8x16_t high = vld1q_u8(highVectors + place.high * writ::kVectorBytes + 16 * i);
    if constexpr (place.highShift != 0)
      high = vshrq_n_u8(high, place.highShift);
    high = vandq_u8(high, vdupq_n_u8((1 << codes.highBits) - 1));
    low = vorrq_u8(low, vshlq_n_u8(high, 4));
  }
  return vreinterpretq_s8_u8(low);
}

/// sum + the dot of each row's 4 codes.
inline int32x4_t addDots(int32x4_t sum, int8x16_t w, int8x16_t a) {
#if WRIT_ISA_LEVEL == 4
  return vdotq_s32(sum, w, a);
#else
  const int16x8_t low = vmull_s8(vget_low_s8(w), vget_low_s8(a));
  return vpadalq_s16(sum, vpaddq_s16(low, vmull_high_s8(w, a)));
#endif
}

/// rn of each sum, a lane for each row.
inline Lanes toLanes(const RowSums &sums) {
  alignas(16) float rows[16];
  for (int64_t i = 0; i < 4; ++i)
    vst1q_f32(rows + 4 * i, vcvtq_f32_s32(sums.q[i]));
  return load(rows);
}

/// Ends a segment of a tile: its sums are stored and start anew.
template <int64_t R> inline void closeSegment(Lanes *acc, int64_t segment, float *sums) {
  for (int64_t r = 0; r < R; ++r) {
    store(acc[r], sums + (r * kSegments + segment) * kLanes);
    acc[r] = zero();
  }
}

} // namespace
