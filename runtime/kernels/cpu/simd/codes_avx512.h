//===- codes_avx512.h - code vectors and activations with AVX-512 ---------===//
#pragma once

#include "runtime/kernels/cpu/simd/unrolled.h"
#include "writ/packed_layout.h"

#include <immintrin.h>

namespace {

inline __m512i broadcastCodes(const void *four) {
  int32_t codes;
  __builtin_memcpy(&codes, four, sizeof(codes));
  return _mm512_set1_epi32(codes);
}

inline __m512 widenHalves(const uint16_t *from) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(from)));
}

/// The stored codes of one group of 16 rows, 4 to a row, as unsigned bytes. `place` counts from
/// `vectors` and, the high bits, from `highVectors`.
template <typename Format, writ::CodePlace place>
__attribute__((always_inline)) inline __m512i groupCodes(const uint8_t *vectors,
                                                         const uint8_t *highVectors) {
  constexpr writ::CodeBits codes = Format::kCodes;
  __m512i low = _mm512_loadu_si512(vectors + place.low * writ::kVectorBytes);
  if constexpr (codes.lowBits == 8)
    return low;
  if constexpr (place.lowShift != 0)
    low = _mm512_srli_epi16(low, place.lowShift);
  low = _mm512_and_si512(low, _mm512_set1_epi8(15));
  if constexpr (codes.highBits != 0) {
    constexpr int64_t up =
        4 - place.highShift; // to bit 4; the mask drops the neighbour byte's bits
    __m512i high = _mm512_loadu_si512(highVectors + place.high * writ::kVectorBytes);
    if constexpr (up > 0)
      high = _mm512_slli_epi16(high, up);
    else if constexpr (up < 0)
      high = _mm512_srli_epi16(high, -up);
    constexpr int mask = ((1 << codes.highBits) - 1) << 4;
    low = _mm512_ternarylogic_epi32(low, high, _mm512_set1_epi8(mask), 0xf8); // a | (b & c)
  }
  return low;
}

} // namespace
