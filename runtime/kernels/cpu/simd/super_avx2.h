//===- super_avx2.h - dots of blocks of 256 with AVX2 ---------------------===//
//
// See linear/super_linear.h for the formula. vpmaddubsw adds two products in 16 bits; a run of
// steps that stays within them (8 of 4 bits, 4 of 5, 2 of 6) is multiplied by the sub-scale and
// widened by one vpmaddwd. The bias of q6_k comes off at the end: 32 * (sum of sc_j * sum of q).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/simd/codes_avx2.h"

namespace {

template <typename Format> struct SuperForm {
  using Sum = int16_t;
  using Numbers = SuperNumbers<Format>;
  static constexpr writ::ActivationCodes kActivation = writ::kActivationB256;
  static constexpr int64_t kPanels = 1, kRows = 4;
  static int64_t stride(int64_t k) { return SuperPanels<Format>::stride(k); }
  template <int64_t P, int64_t R> static void compute(const Tile &tile);
};

/// A pair of sub-blocks' bytes of the rows 8h .. 8h + 7, as pairs of 16 bits.
inline __m256i widenPairs(const uint8_t *bytes, int64_t h, bool isSigned) {
  const __m128i eight = _mm_loadu_si128(reinterpret_cast<const __m128i *>(bytes + 16 * h));
  return isSigned ? _mm256_cvtepi8_epi16(eight) : _mm256_cvtepu8_epi16(eight);
}

/// The first or second of each pair of 16 bits in both places.
template <bool second> inline __m256i bothOfPair(__m256i pairs) {
  constexpr int a = second ? 2 : 0, b = a + 1;
  return _mm256_shuffle_epi8(
      pairs, _mm256_setr_epi8(a, b, a, b, a + 4, b + 4, a + 4, b + 4, a + 8, b + 8, a + 8, b + 8,
                              a + 12, b + 12, a + 12, b + 12, a, b, a, b, a + 4, b + 4, a + 4,
                              b + 4, a + 8, b + 8, a + 8, b + 8, a + 12, b + 12, a + 12, b + 12));
}

/// Sum over the pairs of sub-blocks of integer * sum of activation codes.
template <int64_t pairCount>
inline __m256i pairDots(const uint8_t *bytes, int64_t h, bool isSigned, const int32_t *pairs) {
  __m256i sum = _mm256_setzero_si256();
#pragma GCC unroll 8
  for (int64_t i = 0; i < pairCount; ++i)
    sum =
        _mm256_add_epi32(sum, _mm256_madd_epi16(widenPairs(bytes + i * 2 * kPanelRows, h, isSigned),
                                                _mm256_set1_epi32(pairs[i])));
  return sum;
}

/// totals[r] = sum of sc * (stored code * q), for the rows 8h .. 8h + 7.
template <typename Format, int64_t R>
inline void storedDots(const uint8_t *record, int64_t h, const int8_t *const *q, __m256i *totals) {
  using Numbers = SuperNumbers<Format>;
  constexpr int64_t groups = Numbers::kSubGroups, steps = least(kStepsIn16Bits<Format>, groups);
#pragma GCC unroll 4
  for (int64_t r = 0; r < R; ++r)
    totals[r] = _mm256_setzero_si256();
#pragma GCC unroll 1
  for (int64_t pair = 0; pair < Numbers::kSubBlocks / 2; ++pair) {
    const uint8_t *low = record + pair * groups * writ::kVectorBytes + h * 32;
    const uint8_t *high = record + 2 * pair * writ::kVectorBytes + h * 32;
    const __m256i pairScales =
        widenPairs(SuperPanels<Format>::subScales(record, 2 * pair), h, Numbers::kSignedScales);
    unrolled<2>([&](auto second) __attribute__((always_inline)) {
      const __m256i scales = bothOfPair<second == 1>(pairScales);
      __m256i run[R];
      unrolled<groups>([&](auto step) __attribute__((always_inline)) {
        constexpr int64_t g = second * groups + step;
        const __m256i w = groupCodes<Format, superPlace<Format>(g)>(low, high);
#pragma GCC unroll 4
        for (int64_t r = 0; r < R; ++r) {
          const __m256i products = _mm256_maddubs_epi16(
              w, broadcastCodes(q[r] + pair * 2 * Numbers::kSubElements + 4 * g));
          run[r] = step % steps == 0 ? products : _mm256_add_epi16(run[r], products);
          if constexpr ((step + 1) % steps == 0 || step + 1 == groups)
            totals[r] = _mm256_add_epi32(totals[r], _mm256_madd_epi16(run[r], scales));
        }
      });
    });
  }
}

template <typename Format>
template <int64_t P, int64_t R>
void SuperForm<Format>::compute(const Tile &tile) {
  static_assert(P == 1);
  using Panels = SuperPanels<Format>;
  constexpr int64_t sums = kSuperElements / kActivation.sumElements;
  constexpr int64_t pairCount = Numbers::kSubBlocks / 2;
  alignas(32) float acc[R][kLanes] = {};
  forBlocks<SuperForm>(
      tile,
      [&](int64_t block) {
        const uint8_t *record = Panels::record(tile.panel, block);
        const int8_t *q[R];
        alignas(32) int32_t pairs[R][8]; // sums of the codes of two sub-blocks, 16 bits each
        if (tile.ahead)
          for (int64_t line = 0; line < Format::kBytes.record(); line += 64)
            __builtin_prefetch(record + kPrefetchBytes + line);
#pragma GCC unroll 4
        for (int64_t r = 0; r < R; ++r) {
          q[r] = tileCodes<SuperForm>(tile, r) + block * kSuperElements;
          __m256i sixteen = _mm256_loadu_si256(
              reinterpret_cast<const __m256i *>(tileSums<SuperForm>(tile, r) + block * sums));
          if constexpr (Numbers::kMinimum) {
            const __m256i eight = _mm256_madd_epi16(sixteen, _mm256_set1_epi16(1));
            sixteen = _mm256_permute4x64_epi64(_mm256_packs_epi32(eight, eight), 0xd8);
          }
          _mm256_store_si256(reinterpret_cast<__m256i *>(pairs[r]), sixteen);
        }
#pragma GCC unroll 2
        for (int64_t h = 0; h < 2; ++h) {
          __m256i totals[R];
          storedDots<Format, R>(record, h, q, totals);
          const __m256 d = widenHalves(Panels::scales(record) + 8 * h);
#pragma GCC unroll 4
          for (int64_t r = 0; r < R; ++r) {
            __m256 t;
            if constexpr (Numbers::kMinimum) {
              const __m256 dmin = widenHalves(Panels::minimums(record) + 8 * h);
              const __m256i minimum =
                  pairDots<pairCount>(Panels::subMinimums(record, 0), h, false, pairs[r]);
              t = _mm256_fmsub_ps(d, _mm256_cvtepi32_ps(totals[r]),
                                  _mm256_mul_ps(dmin, _mm256_cvtepi32_ps(minimum)));
            } else {
              const __m256i bias = _mm256_mullo_epi32(
                  pairDots<pairCount>(Panels::subScales(record, 0), h, true, pairs[r]),
                  _mm256_set1_epi32(Format::kBias));
              t = _mm256_mul_ps(d, _mm256_cvtepi32_ps(_mm256_sub_epi32(totals[r], bias)));
            }
            const __m256 scale = _mm256_set1_ps(tileScales<SuperForm>(tile, r)[block]);
            _mm256_store_ps(acc[r] + 8 * h,
                            _mm256_fmadd_ps(scale, t, _mm256_load_ps(acc[r] + 8 * h)));
          }
        }
      },
      [&](int64_t segment) {
        for (int64_t r = 0; r < R; ++r)
          for (int64_t i = 0; i < kLanes; i += 8) {
            _mm256_store_ps(tile.sums + (r * kSegments + segment) * kLanes + i,
                            _mm256_load_ps(acc[r] + i));
            _mm256_store_ps(acc[r] + i, _mm256_setzero_ps());
          }
      });
}

} // namespace
