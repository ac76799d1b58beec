//===- dot_avx512.h - integer block dots with AVX-512 VNNI ----------------===//
//
// See linear/block_linear.h for the formula. A 64-byte vector of weight codes holds 4 elements of
// each of 16 rows; one vpdpbusd multiplies it by 4 activation codes, broadcast, with no horizontal
// sums. The weights are the unsigned operand (nibbles, or w + 128); the accumulator starts from
// -bias * A.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/simd/codes_avx512.h"

namespace {

/// dots[p][r] += the 32 elements of one block.
template <typename Format, int64_t P, int64_t R>
__attribute__((always_inline)) inline void addBlock(const uint8_t *const *codes,
                                                    const int8_t *const *q, __m512i (*dots)[R]) {
  unrolled<kBlockElements / 4>([&](auto step) __attribute__((always_inline)) {
    // nibbles: the two groups of one vector after each other
    constexpr int64_t g = Format::kCodes.lowBits == 4 ? step / 2 + step % 2 * 4 : step;
    __m512i w[P];
#pragma GCC unroll 8
    for (int64_t p = 0; p < P; ++p)
      w[p] = groupCodes<Format, writ::blockPlace(Format::kCodes, g)>(codes[p], codes[p]);
#pragma GCC unroll 8
    for (int64_t r = 0; r < R; ++r) {
      const __m512i a = broadcastCodes(q[r] + 4 * g);
#pragma GCC unroll 8
      for (int64_t p = 0; p < P; ++p)
        dots[p][r] = _mm512_dpbusd_epi32(dots[p][r], w[p], a);
    }
  });
}

template <typename Format> struct BlockForm {
  using Sum = int32_t;
  static constexpr writ::ActivationCodes kActivation = writ::kActivationB32;
  static constexpr int64_t kPanels = 2, kRows = 6;
  static int64_t stride(int64_t k) { return BlockPanels<Format>::stride(k); }
  template <int64_t P, int64_t R> static void compute(const Tile &tile);
};

template <typename Format>
template <int64_t P, int64_t R>
void BlockForm<Format>::compute(const Tile &tile) {
  using Panels = BlockPanels<Format>;
  constexpr int64_t kBytes = Panels::kBlockBytes;
  const int8_t *activation[R];
  const float *scales[R];
  const int32_t *sums[R];
  const char *panels[P];
  __m512 acc[P][R];
#pragma GCC unroll 8
  for (int64_t r = 0; r < R; ++r) {
    activation[r] = tileCodes<BlockForm>(tile, r);
    scales[r] = tileScales<BlockForm>(tile, r);
    sums[r] = tileSums<BlockForm>(tile, r);
  }
#pragma GCC unroll 8
  for (int64_t p = 0; p < P; ++p) {
    panels[p] = at<char>(tile.panel, p * tile.panelStride);
#pragma GCC unroll 8
    for (int64_t r = 0; r < R; ++r)
      acc[p][r] = _mm512_setzero_ps();
  }
  forBlocks<BlockForm>(
      tile,
      [&](int64_t block) __attribute__((always_inline)) {
        const uint8_t *codes[P];
        const int8_t *q[R];
        __m512i dots[P][R];
#pragma GCC unroll 8
        for (int64_t p = 0; p < P; ++p) {
          codes[p] = Panels::codes(panels[p], block, tile.k);
          if (tile.ahead) {
            const char *next = ahead<P>(panels[p], tile.panelStride, block * kBytes);
#pragma GCC unroll 16
            for (int64_t line = 0; line < kBytes; line += 64)
              __builtin_prefetch(next + line);
          }
        }
#pragma GCC unroll 8
        for (int64_t r = 0; r < R; ++r) {
          q[r] = activation[r] + block * kBlockElements;
          const __m512i start = Format::kBias ? _mm512_set1_epi32(-Format::kBias * sums[r][block])
                                              : _mm512_setzero_si512();
#pragma GCC unroll 8
          for (int64_t p = 0; p < P; ++p)
            dots[p][r] = start;
        }
        addBlock<Format, P, R>(codes, q, dots);
#pragma GCC unroll 8
        for (int64_t p = 0; p < P; ++p) {
          const __m512 d = widenHalves(Panels::scales(panels[p], block, tile.k));
          __m512 m = _mm512_setzero_ps();
          if constexpr (Format::kMinimum)
            m = widenHalves(Panels::minimums(panels[p], block, tile.k));
#pragma GCC unroll 8
          for (int64_t r = 0; r < R; ++r) {
            const __m512 dot = _mm512_cvtepi32_ps(dots[p][r]);
            __m512 t;
            if constexpr (Format::kMinimum) {
              const __m512 sum = _mm512_set1_ps(static_cast<float>(sums[r][block]));
              t = _mm512_fmadd_ps(d, dot, _mm512_mul_ps(m, sum));
            } else {
              t = _mm512_mul_ps(d, dot);
            }
            acc[p][r] = _mm512_fmadd_ps(_mm512_set1_ps(scales[r][block]), t, acc[p][r]);
          }
        }
      },
      [&](int64_t segment) __attribute__((always_inline)) {
#pragma GCC unroll 8
        for (int64_t r = 0; r < R; ++r)
#pragma GCC unroll 8
          for (int64_t p = 0; p < P; ++p) {
            _mm512_store_ps(tile.sums + ((r * P + p) * kSegments + segment) * kLanes, acc[p][r]);
            acc[p][r] = _mm512_setzero_ps();
          }
      });
}

} // namespace
