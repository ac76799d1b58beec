//===- linear/float_linear.h - activations and weights in binary32 --------===//
//
//   out[r][j] = sum over i of activation[r][i] * weight[j][i] (+ bias[j])
//   activation f32 [rows][k], weight [n][k] in panels of 16 rows, out f32 [rows][n]
//
// One fma for each element, i ascending, in the segments of segments.h. A unit is one panel. The
// rows are taken in runs whose activations stay in the cache while the panels pass by; a block of
// a panel is decoded once for a run.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/linear/decode.h"
#include "runtime/kernels/cpu/linear/segments.h"

namespace {

/// Panels and rows whose accumulators lie in registers together: enough of them to hide the latency
/// of an fma, and more of them than loads.
constexpr int64_t kPanelGroup = WRIT_ISA_LEVEL == 2 ? 2 : 1, kRowGroup = 6;

/// Activations of a run, and its rows: many enough that decoding costs little.
constexpr int64_t kFloatRunBytes = 384 * 1024, kLeastRun = 24, kLargestRun = 48;

/// A run's block of P panels: columns as decodeColumns leaves them, and sums [rows][P][16].
struct FloatBlock {
  const float (*columns)[kBlockElements * kPanelRows];
  const float *activation; ///< the block's first element of the run's first row
  int64_t k, count;
  float *sums;
};

/// The sums of R rows from `row` on += block * activation.
template <int64_t P, int64_t R> inline void accumulateRows(const FloatBlock &block, int64_t row) {
  const float *activation = block.activation + row * block.k;
  float *sums = block.sums + row * P * kLanes;
  Lanes acc[R][P];
#pragma GCC unroll 8
  for (int64_t r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (int64_t p = 0; p < P; ++p)
      acc[r][p] = load(sums + (r * P + p) * kLanes);
  for (int64_t i = 0; i < block.count; ++i) {
    Lanes w[P];
#pragma GCC unroll 8
    for (int64_t p = 0; p < P; ++p)
      w[p] = load(block.columns[p] + i * kLanes);
#pragma GCC unroll 8
    for (int64_t r = 0; r < R; ++r) {
      const Lanes a = broadcast(activation[r * block.k + i]);
#pragma GCC unroll 8
      for (int64_t p = 0; p < P; ++p)
        acc[r][p] = fma(w[p], a, acc[r][p]);
    }
  }
#pragma GCC unroll 8
  for (int64_t r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (int64_t p = 0; p < P; ++p)
      store(acc[r][p], sums + (r * P + p) * kLanes);
}

/// The last `rows` < R rows of a run, from `row` on.
template <int64_t P, int64_t R>
inline void accumulateLastRows(const FloatBlock &block, int64_t row, int64_t rows) {
  if constexpr (R > 1) {
    if (rows == R - 1)
      accumulateRows<P, R - 1>(block, row);
    else
      accumulateLastRows<P, R - 1>(block, row, rows);
  }
}

/// P panels from `panel` on, `rows` rows from `first` on.
template <typename Panels, int64_t P, typename Args>
void floatRun(const Args &args, int64_t panel, int64_t first, int64_t rows) {
  const int64_t k = args.k, n = args.n, blocks = ceilDiv(k, kBlockElements);
  const int64_t stride = Panels::stride(k), blockBytes = stride / blocks;
  // blocks of 32 in a segment of units
  const int64_t perSegment =
      segmentBlocks(ceilDiv(k, Panels::kUnit)) * (Panels::kUnit / kBlockElements);
  const char *weights = at<char>(args.weight, panel * stride);
  const float *activation = static_cast<const float *>(args.activation) + first * k;
  const int64_t vectors = rows * P;
  alignas(64) float columns[P][kBlockElements * kPanelRows];
  alignas(64) float sums[kSegments * kLargestRun * P * kLanes]; // [kSegments][rows][P][16]
  for (int64_t i = 0; i < kSegments * vectors; ++i)
    store(zero(), sums + i * kLanes);
  float *segmentSums = sums;
  forSegments(
      blocks, perSegment,
      [&](int64_t block) {
        for (int64_t p = 0; p < P; ++p) {
          Panels::decodeColumns(weights + p * stride, block, k, columns[p]);
          const char *next = ahead<P>(weights + p * stride, stride, block * blockBytes);
          for (int64_t line = 0; line < blockBytes; line += 64)
            __builtin_prefetch(next + line);
        }
        const int64_t from = block * kBlockElements;
        const FloatBlock all{columns, activation + from, k, least(kBlockElements, k - from),
                             segmentSums};
        int64_t row = 0;
        for (; row + kRowGroup <= rows; row += kRowGroup)
          accumulateRows<P, kRowGroup>(all, row);
        accumulateLastRows<P, kRowGroup>(all, row, rows - row);
      },
      [&](int64_t) { segmentSums += vectors * kLanes; });
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t p = 0; p < P; ++p)
      storeColumns(mergeSegments(sums + (r * P + p) * kLanes, vectors * kLanes),
                   static_cast<const float *>(args.bias),
                   static_cast<float *>(args.out) + (first + r) * n, panel + p, n);
}

template <typename Panels, typename Args>
void floatLinear(const Args &args, int64_t begin, int64_t end) {
  const int64_t fit = kFloatRunBytes / (args.k * static_cast<int64_t>(sizeof(float)));
  const int64_t most = fit < kLeastRun ? kLeastRun : least(fit, kLargestRun);
  const int64_t run = evenRun(args.rows, most, kRowGroup);
  for (int64_t row = 0; row < args.rows; row += run) {
    const int64_t rows = least(run, args.rows - row);
    int64_t panel = begin;
    for (; panel + kPanelGroup <= end; panel += kPanelGroup)
      floatRun<Panels, kPanelGroup>(args, panel, row, rows);
    for (; panel < end; ++panel)
      floatRun<Panels, 1>(args, panel, row, rows);
  }
}

} // namespace
