//===- dot_scalar.h - integer block dots for any machine ------------------===//
//
// See linear/block_linear.h for the formula.
//
//===----------------------------------------------------------------------===//
#pragma once

namespace {

constexpr int64_t kTilePanels = 1, kTileRows = 1;

template <typename Format, int64_t P, int64_t R> void computeTile(const BlockTile &tile) {
  static_assert(P == 1 && R == 1);
  using Panels = BlockPanels<Format>;
  const int8_t *activation = tileCodes(tile, 0);
  float acc[kLanes] = {};
  forSegments(
      tile.k / kBlockElements,
      [&](int64_t block) {
        const uint8_t *codes = Panels::codes(tile.panel, block);
        const int8_t *q = activation + block * kBlockElements;
        int32_t dots[kLanes];
        const int32_t sum = tileSums(tile, 0)[block];
        for (int64_t r = 0; r < kLanes; ++r) {
          int32_t dot = -Format::kBias * sum;
          for (int64_t g = 0; g < kBlockElements / 4; ++g)
            for (int64_t j = 0; j < 4; ++j) {
              // nibble group g holds the elements 4g.. of the low half, g + 4 those of the high one
              const int64_t byte = (Format::kNibbles ? g & 3 : g) * 64 + r * 4 + j;
              const int w = !Format::kNibbles ? codes[byte]
                            : g < 4           ? codes[byte] & 15
                                              : codes[byte] >> 4;
              dot += w * q[4 * g + j];
            }
          dots[r] = dot;
        }
        const float scale = tileScales(tile, 0)[block];
        const uint16_t *d = Panels::scales(tile.panel, block, tile.k);
        for (int64_t r = 0; r < kLanes; ++r) {
          float t = floatFromHalf(d[r]) * static_cast<float>(dots[r]);
          if constexpr (Format::kMinimum) {
            const float m = floatFromHalf(Panels::minimums(tile.panel, block, tile.k)[r]);
            t = __builtin_fmaf(floatFromHalf(d[r]), static_cast<float>(dots[r]),
                               m * static_cast<float>(sum));
          }
          acc[r] = __builtin_fmaf(scale, t, acc[r]);
        }
      },
      [&](int64_t segment) {
        for (int64_t r = 0; r < kLanes; ++r) {
          tile.sums[segment * kLanes + r] = acc[r];
          acc[r] = 0.0f;
        }
      });
}

} // namespace
