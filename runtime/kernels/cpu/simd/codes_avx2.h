//===- codes_avx2.h - code vectors and activations with AVX2 --------------===//
#pragma once

#include "runtime/kernels/cpu/simd/unrolled.h"
#include "writ/packed_layout.h"

#include <immintrin.h>

namespace {

inline __m256i broadcastCodes(const void *four) {
  int32_t codes;
  __builtin_memcpy(&codes, four, sizeof(codes));
  return _mm256_set1_epi32(codes);
}
inline __m256i loadCodes(const uint8_t *codes) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(codes));
}
inline __m256 widenHalves(const uint16_t *from) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(from)));
}

/// The stored codes of one group of 8 rows, 4 to a row, as unsigned bytes; `place` counts from
/// `vectors` and, the high bits, from `highVectors`, the halves that belong to these rows.
template <typename Format, writ::CodePlace place>
__attribute__((always_inline)) inline __m256i groupCodes(const uint8_t *vectors,
                                                         const uint8_t *highVectors) {
  constexpr writ::CodeBits codes = Format::kCodes;
  __m256i low = loadCodes(vectors + place.low * writ::kVectorBytes);
  if constexpr (codes.lowBits == 8)
    return low;
  if constexpr (place.lowShift != 0)
    low = _mm256_srli_epi16(low, place.lowShift);
  low = _mm256_and_si256(low, _mm256_set1_epi8(15));
  if constexpr (codes.highBits != 0) {
    constexpr int64_t up =
        4 - place.highShift; // to bit 4; the mask drops the neighbour byte's bits
    __m256i high = loadCodes(highVectors + place.high * writ::kVectorBytes);
    if constexpr (up > 0)
      high = _mm256_slli_epi16(high, up);
    else if constexpr (up < 0)
      high = _mm256_srli_epi16(high, -up);
    constexpr int mask = ((1 << codes.highBits) - 1) << 4;
    low = _mm256_or_si256(low, _mm256_and_si256(high, _mm256_set1_epi8(mask)));
  }
  return low;
}

/// How many steps of vpmaddubsw over stored codes, each two products, stay within 16 signed bits.
template <typename Format>
constexpr int64_t kStepsIn16Bits = 32767 / (2 * ((1 << Format::kCodes.bits()) - 1) * 127);

} // namespace
