//===- dot_bf16.h - pairs of bfloat16 products with vdpbf16ps -------------===//
//
// See linear/pair_linear.h for what is computed. The two rows of weights that make a pair lie in
// one line of a panel16 panel; one permutation puts the two elements of each column beside each
// other.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/linear/segments.h"
#include "writ/packed_layout.h"

#include <immintrin.h>

namespace {

using writ::kBlockElements;
using writ::kPanelRows;

/// Bytes of activations that pass over a panel before the next panel is taken: they stay in the
/// cache, and the weights are read as rarely as that allows.
constexpr int64_t kPairRunBytes = 384 * 1024;
constexpr int64_t kPairPanels = 2, kPairRows = 8;
constexpr int64_t kPairPrefetchBytes = 4096;

/// Elements of one block of an activation row, rounded to bfloat16, the rest 0.
inline __m512i roundedBlock(const float *from, int64_t count) {
  const auto some = [&](int64_t first) {
    const int64_t left = count - first;
    const uint32_t mask = left >= 16 ? 0xffff : left > 0 ? (1u << left) - 1 : 0;
    return _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), from + first);
  };
  return (__m512i)_mm512_cvtne2ps_pbh(some(16), some(0));
}

/// P panels and R rows.
template <int64_t P, int64_t R, typename Args>
void pairTile(const Args &args, int64_t panel, int64_t row, bool ahead) {
  const int64_t k = args.k, stride = writ::panelStride(2, k);
  const int64_t blocks = ceilDiv(k, kBlockElements), perSegment = segmentBlocks(blocks);
  const auto *activation = static_cast<const float *>(args.activation) + row * k;
  const char *weights = at<char>(args.weight, panel * stride);
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24,
                                         8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  alignas(64) float sums[kSegments][R][P][kLanes];
  alignas(64) uint32_t pairs[R][kBlockElements / 2];
  __m512 acc[R][P];
  const auto clear = [&]() __attribute__((always_inline)) {
#pragma GCC unroll 8
    for (int64_t r = 0; r < R; ++r)
#pragma GCC unroll 8
      for (int64_t p = 0; p < P; ++p)
        acc[r][p] = _mm512_setzero_ps();
  };
  const auto close = [&](int64_t segment) __attribute__((always_inline)) {
#pragma GCC unroll 8
    for (int64_t r = 0; r < R; ++r)
#pragma GCC unroll 8
      for (int64_t p = 0; p < P; ++p)
        _mm512_store_ps(sums[segment][r][p], acc[r][p]);
    clear();
  };
  clear();
  int64_t segment = 0, left = perSegment;
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t first = block * kBlockElements, count = least(kBlockElements, k - first);
    for (int64_t r = 0; r < R; ++r)
      _mm512_store_si512(pairs[r], roundedBlock(activation + r * k + first, count));
    const char *from = weights + first * kPanelRows * 2;
    for (int64_t pair = 0; pair < count / 2; ++pair) {
      __m512bh w[P];
#pragma GCC unroll 8
      for (int64_t p = 0; p < P; ++p) {
        const char *line = from + p * stride + pair * 64;
        if (ahead)
          __builtin_prefetch(line + kPairPrefetchBytes);
        w[p] = (__m512bh)_mm512_permutexvar_epi16(order, _mm512_loadu_si512(line));
      }
#pragma GCC unroll 8
      for (int64_t r = 0; r < R; ++r) {
        const __m512bh x = (__m512bh)_mm512_set1_epi32(static_cast<int>(pairs[r][pair]));
#pragma GCC unroll 8
        for (int64_t p = 0; p < P; ++p)
          acc[r][p] = _mm512_dpbf16_ps(acc[r][p], w[p], x);
      }
    }
    if (--left == 0 || block + 1 == blocks) {
      close(segment++);
      left = perSegment;
    }
  }
  while (segment < kSegments)
    close(segment++);
  for (int64_t r = 0; r < R; ++r)
    for (int64_t p = 0; p < P; ++p)
      storeColumns(mergeSegments(sums[0][r][p], R * P * kLanes),
                   static_cast<const float *>(args.bias),
                   static_cast<float *>(args.out) + (row + r) * args.n, panel + p, args.n);
}

/// The last `rows` < R rows of a run.
template <int64_t P, int64_t R, typename Args>
void pairLastRows(const Args &args, int64_t panel, int64_t row, int64_t rows, bool ahead) {
  if constexpr (R > 1) {
    if (rows == R - 1)
      pairTile<P, R - 1>(args, panel, row, ahead);
    else
      pairLastRows<P, R - 1>(args, panel, row, rows, ahead);
  }
}

template <int64_t P, typename Args>
void pairPanels(const Args &args, int64_t panel, int64_t row, int64_t rows) {
  const int64_t first = row, end = row + rows;
  for (; row + kPairRows <= end; row += kPairRows)
    pairTile<P, kPairRows>(args, panel, row, row == first);
  pairLastRows<P, kPairRows>(args, panel, row, end - row, row == first);
}

template <typename Args> void pairLinear(const Args &args, int64_t begin, int64_t end) {
  const int64_t tiles = kPairRunBytes / (args.k * 4 * kPairRows);
  const int64_t run = kPairRows * (tiles > 0 ? tiles : 1);
  for (int64_t row = 0; row < args.rows; row += run) {
    const int64_t rows = least(run, args.rows - row);
    int64_t panel = begin;
    for (; panel + kPairPanels <= end; panel += kPairPanels)
      pairPanels<kPairPanels>(args, panel, row, rows);
    for (; panel < end; ++panel)
      pairPanels<1>(args, panel, row, rows);
  }
}

} // namespace
