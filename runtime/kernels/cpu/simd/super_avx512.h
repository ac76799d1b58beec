//===- super_avx512.h - dots of blocks of 256 with AVX-512 VNNI -----------===//
//
// See linear/super_linear.h for the formula. As in dot_avx512.h one vpdpbusd multiplies 4 elements
// of each of 16 rows by 4 activation codes. The scale step of a sub-block:
//
//   q4_k   |sc * dot| of 4 sub-blocks stays below 2^24, so a binary32 fma adds it exactly; the sum
//   of
//          the two halves rounds as one conversion of the integer would
//   else   vpmulld and vpaddd
//
// The minimums are multiplied by pairs of 16-bit sums; the bias of q6_k starts each dot.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/simd/codes_avx512.h"

namespace {

template <typename Format> struct SuperForm {
  using Sum = int16_t;
  using Numbers = SuperNumbers<Format>;
  static constexpr writ::ActivationCodes kActivation = writ::kActivationB256;
  static constexpr int64_t kPanels = 2, kRows = 6;
  static constexpr bool kFloatHalves =
      Numbers::kLargestTerm * (Numbers::kSubBlocks / 2) <= (1 << 24);
  static int64_t stride(int64_t k) { return SuperPanels<Format>::stride(k); }
  template <int64_t P, int64_t R> static void compute(const Tile &tile);
};

/// What a block's sums of 16 activation codes say to its sub-blocks: with minimums 4 pairs of
/// 16-bit sums of 32 codes, without the start -bias * sum of each of 16 dots.
template <typename Format> inline void prepareSums(const int16_t *sums, int32_t *prepared) {
  const __m256i sixteen = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(sums));
  if constexpr (SuperNumbers<Format>::kMinimum) {
    const __m256i eight = _mm256_madd_epi16(sixteen, _mm256_set1_epi16(1));
    _mm_store_si128(reinterpret_cast<__m128i *>(prepared), _mm256_cvtepi32_epi16(eight));
  } else {
    const __m512i wide = _mm512_cvtepi16_epi32(sixteen);
    _mm512_store_si512(prepared, _mm512_mullo_epi32(wide, _mm512_set1_epi32(-Format::kBias)));
  }
}

/// The codes and sub-scales of one pair of sub-blocks.
struct SuperPair {
  const uint8_t *low, *high; ///< from where CodePlace counts for the first pair
  const uint8_t *scales;
};
template <typename Format> inline SuperPair superPair(const uint8_t *record, int64_t pair) {
  constexpr int64_t groups = SuperNumbers<Format>::kSubGroups;
  return {record + pair * groups * writ::kVectorBytes, record + 2 * pair * writ::kVectorBytes,
          SuperPanels<Format>::subScales(record, 2 * pair)};
}

/// The sub-scales of the first or second sub-block of a pair as 32-bit integers.
template <typename Format, bool second> inline __m512i subScales(const uint8_t *scales) {
  const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(scales));
  if constexpr (SuperNumbers<Format>::kSignedScales) {
    const __m512i pair = _mm512_cvtepi8_epi16(bytes);
    return _mm512_srai_epi32(second ? pair : _mm512_slli_epi32(pair, 16), 16);
  } else {
    const __m512i pair = _mm512_cvtepu8_epi16(bytes);
    return second ? _mm512_srli_epi32(pair, 16) : _mm512_and_si512(pair, _mm512_set1_epi32(0xffff));
  }
}

/// dots[p][r] of the sub-block `second` of pairs; q and starts are those of the pair.
template <typename Format, bool second, int64_t P, int64_t R>
__attribute__((always_inline)) inline void subDots(const SuperPair *pairs, const int8_t *const *q,
                                                   const int32_t *const *starts,
                                                   __m512i (*dots)[R]) {
  constexpr int64_t groups = SuperNumbers<Format>::kSubGroups;
#pragma GCC unroll 8
  for (int64_t r = 0; r < R; ++r) {
    const __m512i start =
        Format::kBias ? _mm512_set1_epi32(starts[r][second]) : _mm512_setzero_si512();
#pragma GCC unroll 8
    for (int64_t p = 0; p < P; ++p)
      dots[p][r] = start;
  }
  unrolled<groups>([&](auto v) __attribute__((always_inline)) {
    constexpr int64_t g = second * groups + v;
    constexpr writ::CodePlace place = superPlace<Format>(g);
    __m512i w[P];
#pragma GCC unroll 8
    for (int64_t p = 0; p < P; ++p)
      w[p] = groupCodes<Format, place>(pairs[p].low, pairs[p].high);
#pragma GCC unroll 8
    for (int64_t r = 0; r < R; ++r) {
      const __m512i a = broadcastCodes(q[r] + 4 * g);
#pragma GCC unroll 8
      for (int64_t p = 0; p < P; ++p)
        dots[p][r] = _mm512_dpbusd_epi32(dots[p][r], w[p], a);
    }
  });
}

/// rn(I) of each panel and row. next[p]: a record to ask for meanwhile, or null.
template <typename Format, int64_t P, int64_t R>
__attribute__((always_inline)) inline void
scaledDots(const uint8_t *const *records, const int8_t *const *q, const int32_t (*prepared)[16],
           const char *const *next, __m512 (*result)[R]) {
  using Numbers = SuperNumbers<Format>;
  constexpr bool floats = SuperForm<Format>::kFloatHalves;
  constexpr int64_t pairsOfRun = Numbers::kSubBlocks / (floats ? 4 : 2);
  constexpr int64_t lines = Format::kBytes.record() / 64;
  constexpr int64_t linesOfPair = ceilDiv(lines, Numbers::kSubBlocks / 2);
#pragma GCC unroll 8
  for (int64_t p = 0; p < P; ++p)
#pragma GCC unroll 8
    for (int64_t r = 0; r < R; ++r)
      result[p][r] = _mm512_setzero_ps();
  for (int64_t run = 0; run < (floats ? 2 : 1); ++run) {
    // integers, or in binary32 from +0: a product may be -0, an integer is not
    [[maybe_unused]] __m512i total[P][R];
    [[maybe_unused]] __m512 sum[P][R];
#pragma GCC unroll 8
    for (int64_t p = 0; p < P; ++p)
#pragma GCC unroll 8
      for (int64_t r = 0; r < R; ++r)
        if constexpr (floats)
          sum[p][r] = _mm512_setzero_ps();
        else
          total[p][r] = _mm512_setzero_si512();
#pragma GCC unroll 1
    for (int64_t pair = run * pairsOfRun; pair < (run + 1) * pairsOfRun; ++pair) {
      SuperPair pairs[P];
      const int8_t *codes[R];
      const int32_t *starts[R];
#pragma GCC unroll 8
      for (int64_t p = 0; p < P; ++p) {
        pairs[p] = superPair<Format>(records[p], pair);
        if (next[p])
#pragma GCC unroll 16
          for (int64_t line = 0; line < linesOfPair; ++line)
            __builtin_prefetch(next[p] + (pair * linesOfPair + line) * 64);
      }
#pragma GCC unroll 8
      for (int64_t r = 0; r < R; ++r) {
        codes[r] = q[r] + pair * 2 * Numbers::kSubElements;
        starts[r] = prepared[r] + pair * 2;
      }
      unrolled<2>([&](auto second) __attribute__((always_inline)) {
        __m512i dots[P][R];
        subDots<Format, second == 1, P, R>(pairs, codes, starts, dots);
#pragma GCC unroll 8
        for (int64_t p = 0; p < P; ++p) {
          const __m512i scale = subScales<Format, second == 1>(pairs[p].scales);
#pragma GCC unroll 8
          for (int64_t r = 0; r < R; ++r)
            if constexpr (floats)
              sum[p][r] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots[p][r]), _mm512_cvtepi32_ps(scale),
                                          sum[p][r]);
            else
              total[p][r] = _mm512_add_epi32(total[p][r], _mm512_mullo_epi32(dots[p][r], scale));
        }
      });
    }
#pragma GCC unroll 8
    for (int64_t p = 0; p < P; ++p)
#pragma GCC unroll 8
      for (int64_t r = 0; r < R; ++r)
        if constexpr (floats)
          result[p][r] = _mm512_add_ps(result[p][r], sum[p][r]);
        else
          result[p][r] = _mm512_cvtepi32_ps(total[p][r]);
  }
}

template <typename Format>
template <int64_t P, int64_t R>
void SuperForm<Format>::compute(const Tile &tile) {
  using Panels = SuperPanels<Format>;
  constexpr int64_t sums = kSuperElements / kActivation.sumElements;
  // in memory: the registers belong to the dots, and a block of 256 adds to these only once
  alignas(64) float acc[P][R][kLanes] = {};
  forBlocks<SuperForm>(
      tile,
      [&](int64_t block) {
        const uint8_t *records[P];
        const char *next[P];
        const int8_t *q[R];
        alignas(64) int32_t prepared[R][16];
        __m512 dot[P][R];
#pragma GCC unroll 8
        for (int64_t p = 0; p < P; ++p) {
          const char *panel = at<char>(tile.panel, p * tile.panelStride);
          records[p] = Panels::record(panel, block);
          next[p] = tile.ahead ? ahead<P>(panel, tile.panelStride, block * Format::kBytes.record())
                               : nullptr;
        }
#pragma GCC unroll 8
        for (int64_t r = 0; r < R; ++r) {
          q[r] = tileCodes<SuperForm>(tile, r) + block * kSuperElements;
          prepareSums<Format>(tileSums<SuperForm>(tile, r) + block * sums, prepared[r]);
        }
        scaledDots<Format, P, R>(records, q, prepared, next, dot);
#pragma GCC unroll 8
        for (int64_t p = 0; p < P; ++p) {
          const __m512 d = widenHalves(Panels::scales(records[p]));
          __m512i pairs[4];
          __m512 dmin = _mm512_setzero_ps();
          if constexpr (Numbers::kMinimum) {
            dmin = widenHalves(Panels::minimums(records[p]));
#pragma GCC unroll 4
            for (int64_t i = 0; i < 4; ++i)
              pairs[i] = _mm512_cvtepu8_epi16(_mm256_loadu_si256(
                  reinterpret_cast<const __m256i *>(Panels::subMinimums(records[p], 2 * i))));
          }
#pragma GCC unroll 8
          for (int64_t r = 0; r < R; ++r) {
            __m512 t;
            if constexpr (Numbers::kMinimum) {
              __m512i minimum = _mm512_setzero_si512();
#pragma GCC unroll 4
              for (int64_t i = 0; i < 4; ++i)
                minimum = _mm512_dpwssd_epi32(minimum, pairs[i], _mm512_set1_epi32(prepared[r][i]));
              t = _mm512_fmsub_ps(d, dot[p][r], _mm512_mul_ps(dmin, _mm512_cvtepi32_ps(minimum)));
            } else {
              t = _mm512_mul_ps(d, dot[p][r]);
            }
            const __m512 scale = _mm512_set1_ps(tileScales<SuperForm>(tile, r)[block]);
            _mm512_store_ps(acc[p][r], _mm512_fmadd_ps(scale, t, _mm512_load_ps(acc[p][r])));
          }
        }
      },
      [&](int64_t segment) {
        for (int64_t r = 0; r < R; ++r)
          for (int64_t p = 0; p < P; ++p) {
            _mm512_store_ps(tile.sums + ((r * P + p) * kSegments + segment) * kLanes,
                            _mm512_load_ps(acc[p][r]));
            _mm512_store_ps(acc[p][r], _mm512_setzero_ps());
          }
      });
}

} // namespace
