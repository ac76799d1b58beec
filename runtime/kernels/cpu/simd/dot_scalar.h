//===- dot_scalar.h - integer block dots for any machine ------------------===//
//
// See linear/block_linear.h for the formula.
//
//===----------------------------------------------------------------------===//
#pragma once

namespace {

template <typename Format> struct BlockForm {
  using Sum = int32_t;
  static constexpr writ::ActivationCodes kActivation = writ::kActivationB32;
  static constexpr int64_t kPanels = 1, kRows = 1;
  static int64_t stride(int64_t k) { return BlockPanels<Format>::stride(k); }
  template <int64_t P, int64_t R> static void compute(const Tile &tile);
};

template <typename Format>
template <int64_t P, int64_t R>
void BlockForm<Format>::compute(const Tile &tile) {
  static_assert(P == 1 && R == 1);
  using Panels = BlockPanels<Format>;
  const int8_t *activation = tileCodes<BlockForm>(tile, 0);
  float acc[kLanes] = {};
  forSegments(
      tile.k / kBlockElements,
      [&](int64_t block) {
        const uint8_t *codes = Panels::codes(tile.panel, block);
        const int8_t *q = activation + block * kBlockElements;
        int32_t dots[kLanes];
        const int32_t sum = tileSums<BlockForm>(tile, 0)[block];
        for (int64_t r = 0; r < kLanes; ++r) {
          int32_t dot = -Format::kBias * sum;
          for (int64_t i = 0; i < kBlockElements; ++i)
            dot +=
                q[i] * storedCode<Format>(codes, writ::blockPlace(Format::kCodes, i / 4), i % 4, r);
          dots[r] = dot;
        }
        const float scale = tileScales<BlockForm>(tile, 0)[block];
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
