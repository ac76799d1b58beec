//===- dot_neon.h - integer block dots with NEON --------------------------===//
//
// See linear/block_linear.h for the formula and codes_neon.h for the dots.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/simd/codes_neon.h"

namespace {

template <typename Format> struct BlockForm {
  using Sum = int32_t;
  static constexpr writ::ActivationCodes kActivation = writ::kActivationB32;
  static constexpr int64_t kPanels = 1, kRows = 4;
  static int64_t stride(int64_t k) { return BlockPanels<Format>::stride(k); }
  template <int64_t P, int64_t R> static void compute(const Tile &tile);
};

template <typename Format>
template <int64_t P, int64_t R>
void BlockForm<Format>::compute(const Tile &tile) {
  static_assert(P == 1);
  using Panels = BlockPanels<Format>;
  constexpr int kCorrection = kCentred<Format> ? 0 : Format::kBias;
  Lanes acc[R];
  for (int64_t r = 0; r < R; ++r)
    acc[r] = zero();
  forBlocks<BlockForm>(
      tile,
      [&](int64_t block) {
        const uint8_t *codes = Panels::codes(tile.panel, block, tile.k);
        const int8_t *q[R];
        RowSums dots[R];
#pragma GCC unroll 4
        for (int64_t r = 0; r < R; ++r) {
          q[r] = tileCodes<BlockForm>(tile, r) + block * kBlockElements;
          const int32x4_t start = vdupq_n_s32(-kCorrection * tileSums<BlockForm>(tile, r)[block]);
#pragma GCC unroll 4
          for (int64_t i = 0; i < 4; ++i)
            dots[r].q[i] = start;
        }
        unrolled<kBlockElements / 4>([&](auto group) __attribute__((always_inline)) {
          int8x16_t a[R];
#pragma GCC unroll 4
          for (int64_t r = 0; r < R; ++r)
            a[r] = broadcastCodes(q[r] + 4 * group);
#pragma GCC unroll 4
          for (int64_t i = 0; i < 4; ++i) {
            const int8x16_t w =
                groupCodes<Format, writ::blockPlace(Format::kCodes, group)>(codes, codes, i);
#pragma GCC unroll 4
            for (int64_t r = 0; r < R; ++r)
              dots[r].q[i] = addDots(dots[r].q[i], w, a[r]);
          }
        });
        const Lanes d = loadHalf(Panels::scales(tile.panel, block, tile.k));
        Lanes m = zero();
        if constexpr (Format::kMinimum)
          m = loadHalf(Panels::minimums(tile.panel, block, tile.k));
        for (int64_t r = 0; r < R; ++r) {
          const Lanes dot = toLanes(dots[r]);
          Lanes t = mul(d, dot);
          if constexpr (Format::kMinimum) {
            const auto sum = static_cast<float>(tileSums<BlockForm>(tile, r)[block]);
            t = fma(d, dot, mul(m, broadcast(sum)));
          }
          acc[r] = fma(broadcast(tileScales<BlockForm>(tile, r)[block]), t, acc[r]);
        }
      },
      [&](int64_t segment) { closeSegment<R>(acc, segment, tile.sums); });
}

} // namespace
