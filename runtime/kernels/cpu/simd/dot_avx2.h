//===- dot_avx2.h - integer block dots with AVX2 --------------------------===//
//
// See linear/block_linear.h for the formula. Two 32-byte vectors of weight codes hold 4 elements of
// each of 16 rows. vpmaddubsw adds two products in 16 bits and saturates:
//   4 bits    2 * 15 * 127 = 3810 a step; the 8 steps of a block reach 30480, within 16 bits
//   5 bits    2 * 31 * 127 = 7874; 4 steps reach 31496, then they are widened
//   bytes     the stored w + 128 becomes |w|, and q takes the sign of w: 2 * 128 * 127 = 32512
//             (q is in [-127, 127]), so each step is exact and is widened at once
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/simd/codes_avx2.h"

namespace {

/// dots[h][r] = stored code * q over the 32 elements of one block, for the rows 8h .. 8h + 7 of the
/// panel; bytes of 8 bits are centred.
template <typename Format, int64_t R>
__attribute__((always_inline)) inline void blockDots(const uint8_t *codes, const int8_t *const *q,
                                                     __m256i (*dots)[R]) {
  const __m256i ones = _mm256_set1_epi16(1);
  constexpr int64_t groups = kBlockElements / 4;
#pragma GCC unroll 2
  for (int64_t h = 0; h < 2; ++h) {
    __m256i *dot = dots[h];
#pragma GCC unroll 4
    for (int64_t r = 0; r < R; ++r)
      dot[r] = _mm256_setzero_si256();
    if constexpr (Format::kCodes.lowBits == 4) {
      constexpr int64_t steps = least(kStepsIn16Bits<Format>, groups);
      __m256i run[R]; // sums of `steps` products of two, in 16 bits
      unrolled<groups>([&](auto step) __attribute__((always_inline)) {
        constexpr int64_t g = step / 2 + step % 2 * 4; // the two groups of one vector
        const __m256i w =
            groupCodes<Format, writ::blockPlace(Format::kCodes, g)>(codes + h * 32, codes + h * 32);
#pragma GCC unroll 4
        for (int64_t r = 0; r < R; ++r) {
          const __m256i products = _mm256_maddubs_epi16(w, broadcastCodes(q[r] + 4 * g));
          run[r] = step % steps == 0 ? products : _mm256_add_epi16(run[r], products);
          if constexpr ((step + 1) % steps == 0 || step + 1 == groups)
            dot[r] = _mm256_add_epi32(dot[r], _mm256_madd_epi16(run[r], ones));
        }
      });
    } else {
      const __m256i bias = _mm256_set1_epi8(-128);
#pragma GCC unroll 8
      for (int64_t g = 0; g < groups; ++g) {
        const __m256i w = _mm256_xor_si256(loadCodes(codes + g * 64 + h * 32), bias);
        const __m256i magnitude = _mm256_abs_epi8(w);
#pragma GCC unroll 4
        for (int64_t r = 0; r < R; ++r) {
          const __m256i a = _mm256_sign_epi8(broadcastCodes(q[r] + 4 * g), w);
          dot[r] =
              _mm256_add_epi32(dot[r], _mm256_madd_epi16(_mm256_maddubs_epi16(magnitude, a), ones));
        }
      }
    }
  }
}

template <typename Format> struct BlockForm {
  using Sum = int32_t;
  static constexpr writ::ActivationCodes kActivation = writ::kActivationB32;
  static constexpr int64_t kPanels = 1, kRows = 2;
  static int64_t stride(int64_t k) { return BlockPanels<Format>::stride(k); }
  template <int64_t P, int64_t R> static void compute(const Tile &tile);
};

template <typename Format>
template <int64_t P, int64_t R>
void BlockForm<Format>::compute(const Tile &tile) {
  static_assert(P == 1);
  using Panels = BlockPanels<Format>;
  constexpr int64_t kBytes = Panels::kBlockBytes;
  // the bytes of q8_0 are centred above
  constexpr int kCorrection = Format::kCodes.lowBits == 4 ? Format::kBias : 0;
  const int8_t *activation[R];
  const float *scales[R];
  const int32_t *sums[R];
  __m256 acc[2][R];
#pragma GCC unroll 4
  for (int64_t r = 0; r < R; ++r) {
    activation[r] = tileCodes<BlockForm>(tile, r);
    scales[r] = tileScales<BlockForm>(tile, r);
    sums[r] = tileSums<BlockForm>(tile, r);
    acc[0][r] = acc[1][r] = _mm256_setzero_ps();
  }
  forBlocks<BlockForm>(
      tile,
      [&](int64_t block) __attribute__((always_inline)) {
        const uint8_t *codes = Panels::codes(tile.panel, block, tile.k);
        const int8_t *q[R];
        __m256i dots[2][R];
        if (tile.ahead) {
          const char *next = ahead<1>(tile.panel, tile.panelStride, block * kBytes);
#pragma GCC unroll 16
          for (int64_t line = 0; line < kBytes; line += 64)
            __builtin_prefetch(next + line);
        }
#pragma GCC unroll 4
        for (int64_t r = 0; r < R; ++r)
          q[r] = activation[r] + block * kBlockElements;
        blockDots<Format, R>(codes, q, dots);
#pragma GCC unroll 2
        for (int64_t h = 0; h < 2; ++h) {
          const __m256 d = widenHalves(Panels::scales(tile.panel, block, tile.k) + 8 * h);
          __m256 m = _mm256_setzero_ps();
          if constexpr (Format::kMinimum)
            m = widenHalves(Panels::minimums(tile.panel, block, tile.k) + 8 * h);
#pragma GCC unroll 4
          for (int64_t r = 0; r < R; ++r) {
            __m256i exact = dots[h][r];
            if constexpr (kCorrection != 0)
              exact = _mm256_sub_epi32(exact, _mm256_set1_epi32(kCorrection * sums[r][block]));
            const __m256 dot = _mm256_cvtepi32_ps(exact);
            __m256 t;
            if constexpr (Format::kMinimum) {
              const __m256 sum = _mm256_set1_ps(static_cast<float>(sums[r][block]));
              t = _mm256_fmadd_ps(d, dot, _mm256_mul_ps(m, sum));
            } else {
              t = _mm256_mul_ps(d, dot);
            }
            acc[h][r] = _mm256_fmadd_ps(_mm256_set1_ps(scales[r][block]), t, acc[h][r]);
          }
        }
      },
      [&](int64_t segment) __attribute__((always_inline)) {
#pragma GCC unroll 4
        for (int64_t r = 0; r < R; ++r)
#pragma GCC unroll 2
          for (int64_t h = 0; h < 2; ++h) {
            _mm256_store_ps(tile.sums + (r * kSegments + segment) * kLanes + 8 * h, acc[h][r]);
            acc[h][r] = _mm256_setzero_ps();
          }
      });
}

} // namespace
