//===- super_scalar.h - dots of blocks of 256 for any machine -------------===//
//
// See linear/super_linear.h for the formula.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/simd/codes_scalar.h"

namespace {

template <typename Format> struct SuperForm {
  using Sum = int16_t;
  static constexpr writ::ActivationCodes kActivation = writ::kActivationB256;
  static constexpr int64_t kPanels = 1, kRows = 8;
  static int64_t stride(int64_t k) { return SuperPanels<Format>::stride(k); }
  template <int64_t P, int64_t R> static void compute(const Tile &tile);
};

template <typename Format>
template <int64_t P, int64_t R>
void SuperForm<Format>::compute(const Tile &tile) {
  static_assert(P == 1);
  using Panels = SuperPanels<Format>;
  using Numbers = SuperNumbers<Format>;
  constexpr int64_t sums = kSuperElements / kActivation.sumElements;
  constexpr int64_t sumsOfSub = Numbers::kSubElements / kActivation.sumElements;
  float acc[R][kLanes] = {};
  forBlocks<SuperForm>(
      tile,
      [&](int64_t block) {
        const uint8_t *record = Panels::record(tile.panel, block);
        int32_t dots[R][kLanes] = {}, minimums[R][kLanes] = {};
        for (int64_t j = 0; j < Numbers::kSubBlocks; ++j) {
          const int64_t first = j * Numbers::kSubElements;
          alignas(16) int16_t codes[kLanes][Numbers::kSubElements];
          widenCodes<Format>(
              record, first, [](int64_t group) { return superPlace<Format>(group); }, codes);
          for (int64_t row = 0; row < R; ++row) {
            alignas(16) int16_t q[Numbers::kSubElements];
            widenActivation<Numbers::kSubElements>(
                tileCodes<SuperForm>(tile, row) + block * kSuperElements + first, q);
            int32_t sum = 0;
            for (int64_t s = j * sumsOfSub; s < (j + 1) * sumsOfSub; ++s)
              sum += tileSums<SuperForm>(tile, row)[block * sums + s];
            for (int64_t r = 0; r < kLanes; ++r) {
              dots[row][r] += Panels::subScale(record, j, r) *
                              (dotCodes<Numbers::kSubElements>(codes[r], q) - Format::kBias * sum);
              if constexpr (Numbers::kMinimum)
                minimums[row][r] += Panels::subMinimum(record, j, r) * sum;
            }
          }
        }
        for (int64_t row = 0; row < R; ++row) {
          const float scale = tileScales<SuperForm>(tile, row)[block];
          for (int64_t r = 0; r < kLanes; ++r) {
            const float d = floatFromHalf(Panels::scales(record)[r]);
            const float dot = static_cast<float>(dots[row][r]);
            float t = d * dot;
            if constexpr (Numbers::kMinimum) {
              const float dmin = floatFromHalf(Panels::minimums(record)[r]);
              t = __builtin_fmaf(d, dot, -(dmin * static_cast<float>(minimums[row][r])));
            }
            acc[row][r] = __builtin_fmaf(scale, t, acc[row][r]);
          }
        }
      },
      [&](int64_t segment) { closeSegment<R>(acc, segment, tile.sums); });
}

} // namespace
