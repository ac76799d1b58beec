//===- dot_avx512.h - integer block dots with AVX-512 VNNI ----------------===//
//
// See linear/block_linear.h for the formula. A 64-byte vector of weight codes holds 4 elements of
// each of 16 rows; one vpdpbusd multiplies it by 4 activation codes, broadcast, with no horizontal
// sums. The weights are the unsigned operand (nibbles, or w + 128); the accumulator starts from
// -bias * A.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <immintrin.h>

namespace {

constexpr int64_t kTilePanels = 2, kTileRows = 6;

/// How far ahead of the block in hand the codes are asked for, in bytes.
constexpr int64_t kPrefetchBytes = 4096;

inline __m512i broadcastCodes(const int8_t *codes) {
  int32_t four;
  __builtin_memcpy(&four, codes, sizeof(four));
  return _mm512_set1_epi32(four);
}

inline __m512 widenHalves(const uint16_t *from) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(from)));
}

/// dots[p][r] += the 32 elements of one block.
template <typename Format, int64_t P, int64_t R>
inline void addBlock(const uint8_t *const *codes, const int8_t *const *q, __m512i (*dots)[R]) {
  const __m512i mask = _mm512_set1_epi8(15);
  constexpr int64_t groups = Format::kNibbles ? 4 : 8;
#pragma GCC unroll 8
  for (int64_t g = 0; g < groups; ++g) {
    __m512i low[P], high[P];
#pragma GCC unroll 8
    for (int64_t p = 0; p < P; ++p) {
      const __m512i packed = _mm512_loadu_si512(codes[p] + g * 64);
      low[p] = Format::kNibbles ? _mm512_and_si512(packed, mask) : packed;
      high[p] = Format::kNibbles ? _mm512_and_si512(_mm512_srli_epi16(packed, 4), mask) : packed;
    }
#pragma GCC unroll 8
    for (int64_t r = 0; r < R; ++r) {
      const __m512i a = broadcastCodes(q[r] + 4 * g);
#pragma GCC unroll 8
      for (int64_t p = 0; p < P; ++p)
        dots[p][r] = _mm512_dpbusd_epi32(dots[p][r], low[p], a);
      if constexpr (Format::kNibbles) {
        const __m512i b = broadcastCodes(q[r] + 16 + 4 * g);
#pragma GCC unroll 8
        for (int64_t p = 0; p < P; ++p)
          dots[p][r] = _mm512_dpbusd_epi32(dots[p][r], high[p], b);
      }
    }
  }
}

template <typename Format, int64_t P, int64_t R> void computeTile(const BlockTile &tile) {
  using Panels = BlockPanels<Format>;
  const int8_t *activation[R];
  const float *scales[R];
  const int32_t *sums[R];
  const void *panels[P];
  __m512 acc[P][R];
#pragma GCC unroll 8
  for (int64_t r = 0; r < R; ++r) {
    activation[r] = tileCodes(tile, r);
    scales[r] = tileScales(tile, r);
    sums[r] = tileSums(tile, r);
  }
#pragma GCC unroll 8
  for (int64_t p = 0; p < P; ++p) {
    panels[p] = at<char>(tile.panel, p * tile.panelStride);
#pragma GCC unroll 8
    for (int64_t r = 0; r < R; ++r)
      acc[p][r] = _mm512_setzero_ps();
  }
  forSegments(
      tile.k / kBlockElements,
      [&](int64_t block) __attribute__((always_inline)) {
        const uint8_t *codes[P];
        const int8_t *q[R];
        __m512i dots[P][R];
#pragma GCC unroll 8
        for (int64_t p = 0; p < P; ++p) {
          codes[p] = Panels::codes(panels[p], block);
          if (tile.ahead)
#pragma GCC unroll 8
            for (int64_t line = 0; line < Format::kBytes.codes; line += 64)
              __builtin_prefetch(codes[p] + kPrefetchBytes + line);
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
