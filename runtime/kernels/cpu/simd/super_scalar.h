//===- super_scalar.h - dots of blocks of 256 for any machine -------------===//
//
// See linear/super_linear.h for the formula.
//
//===----------------------------------------------------------------------===//
#pragma once

namespace {

template <typename Format> struct SuperForm {
  using Sum = int16_t;
  static constexpr writ::ActivationCodes kActivation = writ::kActivationB256;
  static constexpr int64_t kPanels = 1, kRows = 1;
  static int64_t stride(int64_t k) { return SuperPanels<Format>::stride(k); }
  template <int64_t P, int64_t R> static void compute(const Tile &tile);
};

/// One sub-block's sum of w * q for row r.
template <typename Format>
inline int32_t subDot(const uint8_t *record, const int8_t *q, int64_t j, int64_t r) {
  using Numbers = SuperNumbers<Format>;
  int32_t dot = 0;
  for (int64_t g = j * Numbers::kSubGroups; g < (j + 1) * Numbers::kSubGroups; ++g)
    for (int64_t rank = 0; rank < 4; ++rank)
      dot += q[4 * g + rank] *
             (storedCode<Format>(record, superPlace<Format>(g), rank, r) - Format::kBias);
  return dot;
}

template <typename Format>
template <int64_t P, int64_t R>
void SuperForm<Format>::compute(const Tile &tile) {
  static_assert(P == 1 && R == 1);
  using Panels = SuperPanels<Format>;
  using Numbers = SuperNumbers<Format>;
  constexpr int64_t sums = kSuperElements / kActivation.sumElements;
  constexpr int64_t sumsOfSub = Numbers::kSubElements / kActivation.sumElements;
  float acc[kLanes] = {};
  forSegments(
      tile.k / kSuperElements,
      [&](int64_t block) {
        const uint8_t *record = Panels::record(tile.panel, block);
        const int8_t *q = tileCodes<SuperForm>(tile, 0) + block * kSuperElements;
        const int16_t *sum = tileSums<SuperForm>(tile, 0) + block * sums;
        const float scale = tileScales<SuperForm>(tile, 0)[block];
        for (int64_t r = 0; r < kLanes; ++r) {
          int32_t dot = 0, minimum = 0;
          for (int64_t j = 0; j < Numbers::kSubBlocks; ++j) {
            dot += Panels::subScale(record, j, r) * subDot<Format>(record, q, j, r);
            if constexpr (Numbers::kMinimum)
              for (int64_t s = j * sumsOfSub; s < (j + 1) * sumsOfSub; ++s)
                minimum += Panels::subMinimum(record, j, r) * sum[s];
          }
          const float d = floatFromHalf(Panels::scales(record)[r]);
          float t = d * static_cast<float>(dot);
          if constexpr (Numbers::kMinimum) {
            const float dmin = floatFromHalf(Panels::minimums(record)[r]);
            t = __builtin_fmaf(d, static_cast<float>(dot), -(dmin * static_cast<float>(minimum)));
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
