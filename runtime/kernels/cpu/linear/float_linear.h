//===- linear/float_linear.h - activations and weights in binary32 --------===//
//
//   out[r][j] = sum over i of activation[r][i] * weight[j][i] (+ bias[j])
//   activation f32 [rows][k], weight [n][k] in panels of 16 rows, out f32 [rows][n]
//
// One fma for each element, i ascending, in the segments of segments.h. A unit is one panel. A
// block of a panel is decoded once for a tile of rows.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/linear/decode.h"
#include "runtime/kernels/cpu/linear/segments.h"

namespace {

/// Rows of one tile, and rows whose accumulators lie in registers together.
constexpr int64_t kRowTile = 24, kRowGroup = 6;

/// sums[r] += block * activation[r] for R rows; `columns` as decodeColumns leaves them.
template <int64_t R>
void accumulateRows(const float *columns, const float *activation, int64_t k, int64_t count,
                    float *sums) {
  Lanes acc[R];
  for (int64_t r = 0; r < R; ++r)
    acc[r] = load(sums + r * kLanes);
  for (int64_t i = 0; i < count; ++i) {
    const Lanes w = load(columns + i * kLanes);
    for (int64_t r = 0; r < R; ++r)
      acc[r] = fma(w, broadcast(activation[r * k + i]), acc[r]);
  }
  for (int64_t r = 0; r < R; ++r)
    store(acc[r], sums + r * kLanes);
}

template <typename Panels, typename Args>
void floatLinear(const Args &args, int64_t begin, int64_t end) {
  const int64_t k = args.k, n = args.n, blocks = ceilDiv(k, kBlockElements);
  // blocks of 32 in a segment of units
  const int64_t perSegment =
      segmentBlocks(ceilDiv(k, Panels::kUnit)) * (Panels::kUnit / kBlockElements);
  const auto *bias = static_cast<const float *>(args.bias);
  alignas(64) float columns[kBlockElements * kPanelRows];
  alignas(64) float sums[kSegments][kRowTile][kLanes];
  for (int64_t panel = begin; panel < end; ++panel) {
    const void *weights = at<char>(args.weight, panel * Panels::stride(k));
    for (int64_t first = 0; first < args.rows; first += kRowTile) {
      const int64_t rows = least(kRowTile, args.rows - first);
      const float *activation = static_cast<const float *>(args.activation) + first * k;
      for (int64_t s = 0; s < kSegments; ++s)
        for (int64_t r = 0; r < rows; ++r)
          store(zero(), sums[s][r]);
      for (int64_t block = 0; block < blocks; ++block) {
        Panels::decodeColumns(weights, block, k, columns);
        const int64_t at = block * kBlockElements, count = least(kBlockElements, k - at);
        float(*segment)[kLanes] = sums[block / perSegment];
        int64_t r = 0;
        for (; r + kRowGroup <= rows; r += kRowGroup)
          accumulateRows<kRowGroup>(columns, activation + r * k + at, k, count, segment[r]);
        for (; r < rows; ++r)
          accumulateRows<1>(columns, activation + r * k + at, k, count, segment[r]);
      }
      for (int64_t r = 0; r < rows; ++r)
        storeColumns(mergeSegments(sums[0][r], kRowTile * kLanes), bias,
                     static_cast<float *>(args.out) + (first + r) * n, panel, n);
    }
  }
}

} // namespace
