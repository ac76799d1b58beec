//===- super_neon.h - dots of blocks of 256 with NEON ---------------------===//
//
// See linear/super_linear.h for the formula and codes_neon.h for the dots. The dot of a sub-block
// is multiplied by its scale in 32 bits; the bias of q6_k starts it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/simd/codes_neon.h"

namespace {

template <typename Format> struct SuperForm {
  using Sum = int16_t;
  static constexpr writ::ActivationCodes kActivation = writ::kActivationB256;
  static constexpr int64_t kPanels = 1, kRows = 4;
  static int64_t stride(int64_t k) { return SuperPanels<Format>::stride(k); }
  template <int64_t P, int64_t R> static void compute(const Tile &tile);
};

/// The first or second byte of each pair, rows 4i .. 4i + 3, as 32-bit integers.
template <bool isSigned, bool second>
inline int32x4_t bytesOfPair(const uint8_t *pairs, int64_t i) {
  const uint8x8_t eight = vld1_u8(pairs + 8 * i);
  const int16x8_t wide =
      isSigned ? vmovl_s8(vreinterpret_s8_u8(eight)) : vreinterpretq_s16_u16(vmovl_u8(eight));
  const int32x4_t pair = vreinterpretq_s32_s16(wide); // a row's two 16-bit numbers, the first low
  return vshrq_n_s32(second ? pair : vshlq_n_s32(pair, 16), 16);
}

template <typename Format>
template <int64_t P, int64_t R>
void SuperForm<Format>::compute(const Tile &tile) {
  static_assert(P == 1);
  using Panels = SuperPanels<Format>;
  using Numbers = SuperNumbers<Format>;
  constexpr int64_t sums = kSuperElements / kActivation.sumElements;
  constexpr int64_t sumsOfSub = Numbers::kSubElements / kActivation.sumElements;
  Lanes acc[R];
  for (int64_t r = 0; r < R; ++r)
    acc[r] = zero();
  forBlocks<SuperForm>(
      tile,
      [&](int64_t block) {
        const uint8_t *record = Panels::record(tile.panel, block);
        const int8_t *q[R];
        const int16_t *codeSums[R];
        RowSums totals[R], minimums[R];
        for (int64_t r = 0; r < R; ++r) {
          q[r] = tileCodes<SuperForm>(tile, r) + block * kSuperElements;
          codeSums[r] = tileSums<SuperForm>(tile, r) + block * sums;
          for (int64_t i = 0; i < 4; ++i)
            totals[r].q[i] = minimums[r].q[i] = vdupq_n_s32(0);
        }
        for (int64_t pair = 0; pair < Numbers::kSubBlocks / 2; ++pair) {
          const uint8_t *low = record + pair * Numbers::kSubGroups * writ::kVectorBytes;
          const uint8_t *high = record + 2 * pair * writ::kVectorBytes;
          unrolled<2>([&](auto second) __attribute__((always_inline)) {
            const int64_t j = 2 * pair + second;
            int32_t sum[R];
            for (int64_t r = 0; r < R; ++r) {
              sum[r] = 0;
              for (int64_t s = j * sumsOfSub; s < (j + 1) * sumsOfSub; ++s)
                sum[r] += codeSums[r][s];
            }
#pragma GCC unroll 1
            for (int64_t i = 0; i < 4; ++i) {
              int32x4_t dots[R];
#pragma GCC unroll 4
              for (int64_t r = 0; r < R; ++r)
                dots[r] = vdupq_n_s32(-Format::kBias * sum[r]);
              unrolled<Numbers::kSubGroups>([&](auto v) __attribute__((always_inline)) {
                constexpr int64_t g = second * Numbers::kSubGroups + v;
                const int8x16_t w = groupCodes<Format, superPlace<Format>(g)>(low, high, i);
#pragma GCC unroll 4
                for (int64_t r = 0; r < R; ++r)
                  dots[r] = addDots(
                      dots[r], w, broadcastCodes(q[r] + pair * 2 * Numbers::kSubElements + 4 * g));
              });
              const int32x4_t scale =
                  bytesOfPair<Numbers::kSignedScales, second == 1>(Panels::subScales(record, j), i);
#pragma GCC unroll 4
              for (int64_t r = 0; r < R; ++r)
                totals[r].q[i] = vmlaq_s32(totals[r].q[i], dots[r], scale);
              if constexpr (Numbers::kMinimum) {
                const int32x4_t minimum =
                    bytesOfPair<false, second == 1>(Panels::subMinimums(record, j), i);
#pragma GCC unroll 4
                for (int64_t r = 0; r < R; ++r)
                  minimums[r].q[i] = vmlaq_n_s32(minimums[r].q[i], minimum, sum[r]);
              }
            }
          });
        }
        const Lanes d = loadHalf(Panels::scales(record));
        for (int64_t r = 0; r < R; ++r) {
          const Lanes dot = toLanes(totals[r]);
          Lanes t = mul(d, dot);
          if constexpr (Numbers::kMinimum) {
            const Lanes least = mul(loadHalf(Panels::minimums(record)), toLanes(minimums[r]));
            t = fma(d, dot, sub(broadcast(-0.0f), least)); // the negation is exact
          }
          acc[r] = fma(broadcast(tileScales<SuperForm>(tile, r)[block]), t, acc[r]);
        }
      },
      [&](int64_t segment) { closeSegment<R>(acc, segment, tile.sums); });
}

} // namespace
