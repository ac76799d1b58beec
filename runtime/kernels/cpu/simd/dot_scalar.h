//===- dot_scalar.h - integer block dots for any machine ------------------===//
//
// See linear/block_linear.h for the formula.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/simd/codes_scalar.h"

namespace {

template <typename Format> struct BlockForm {
  using Sum = int32_t;
  static constexpr writ::ActivationCodes kActivation = writ::kActivationB32;
  static constexpr int64_t kPanels = 1, kRows = 8;
  static int64_t stride(int64_t k) { return BlockPanels<Format>::stride(k); }
  template <int64_t P, int64_t R> static void compute(const Tile &tile);
};

template <typename Format>
template <int64_t P, int64_t R>
void BlockForm<Format>::compute(const Tile &tile) {
  static_assert(P == 1);
  using Panels = BlockPanels<Format>;
  float acc[R][kLanes] = {};
  forBlocks<BlockForm>(
      tile,
      [&](int64_t block) {
        alignas(16) int16_t codes[kLanes][kBlockElements];
        widenCodes<Format>(
            Panels::codes(tile.panel, block, tile.k), 0,
            [](int64_t group) { return writ::blockPlace(Format::kCodes, group); }, codes);
        float d[kLanes], m[kLanes];
        for (int64_t r = 0; r < kLanes; ++r) {
          d[r] = floatFromHalf(Panels::scales(tile.panel, block, tile.k)[r]);
          if constexpr (Format::kMinimum)
            m[r] = floatFromHalf(Panels::minimums(tile.panel, block, tile.k)[r]);
        }
        for (int64_t row = 0; row < R; ++row) {
          alignas(16) int16_t q[kBlockElements];
          widenActivation<kBlockElements>(tileCodes<BlockForm>(tile, row) + block * kBlockElements,
                                          q);
          const int32_t sum = tileSums<BlockForm>(tile, row)[block];
          const float scale = tileScales<BlockForm>(tile, row)[block];
          for (int64_t r = 0; r < kLanes; ++r) {
            const float dot =
                static_cast<float>(dotCodes<kBlockElements>(codes[r], q) - Format::kBias * sum);
            float t = d[r] * dot;
            if constexpr (Format::kMinimum)
              t = __builtin_fmaf(d[r], dot, m[r] * static_cast<float>(sum));
            acc[row][r] = __builtin_fmaf(scale, t, acc[row][r]);
          }
        }
      },
      [&](int64_t segment) { closeSegment<R>(acc, segment, tile.sums); });
}

} // namespace
