//===- linear/tile.h - integer dots by tiles of panels and rows -----------===//
//
//   out[r][j] = sum over blocks b of d_a[r][b] * t (+ bias[j]), one fma a block, in segments.h's
//   order
//
// activation: codes [rows][k] with their scales and sums, weight [n][k] in panels of 16 rows, out
// f32 [rows][n]. A unit is one panel. The rows are taken in runs whose codes stay in the cache
// while the panels pass by; a run is taken in tiles of panels and rows whose accumulators lie in
// registers. A form says how a tile's blocks become their terms t:
//
//   kActivation               the storage of the activation
//   kPanels, kRows            of a full tile
//   stride(k)                 bytes from one panel to the next
//   compute<P, R>(tile)       a tile of P panels and R rows
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/linear/segments.h"
#include "writ/packed_layout.h"

namespace {

/// A tile of P panels and R rows. `sums` receives [R][P][kSegments][16] segment sums.
struct Tile {
  const char *panel; ///< the first panel; the others follow at panelStride
  int64_t panelStride;
  const void *activation; ///< the first row; the others follow at rowBytes
  int64_t rowBytes;
  int64_t k;
  float *sums;
  bool ahead; ///< the panels are new to the cache: ask for what follows them
};

template <typename Form> const int8_t *tileCodes(const Tile &tile, int64_t row) {
  return at<int8_t>(tile.activation, row * tile.rowBytes);
}
template <typename Form> const float *tileScales(const Tile &tile, int64_t row) {
  return at<float>(tile.activation, row * tile.rowBytes + Form::kActivation.scales(tile.k));
}
template <typename Form> const typename Form::Sum *tileSums(const Tile &tile, int64_t row) {
  static_assert(sizeof(typename Form::Sum) == Form::kActivation.sumBytes);
  return at<typename Form::Sum>(tile.activation,
                                row * tile.rowBytes + Form::kActivation.sums(tile.k));
}

/// The blocks of a tile in their segments.
template <typename Form, typename Inside, typename Close>
__attribute__((always_inline)) inline void forBlocks(const Tile &tile, Inside inside, Close close) {
  const int64_t blocks = tile.k / Form::kActivation.block;
  forSegments(blocks, segmentBlocks(blocks), inside, close);
}

/// Up to so many rows a kernel waits for memory, not for its sums: panels are taken one at a time,
/// so that a thread reads a single stream, which is what memory gives fastest.
constexpr int64_t kStreamedRows = 4;

/// Bytes of activation codes that pass over a panel before the next panel is taken.
constexpr int64_t kRunBytes = 192 * 1024;

template <typename Form, int64_t P, int64_t R, typename Args>
void runTile(const Args &args, int64_t panel, int64_t row, bool ahead) {
  alignas(64) float sums[R * P * kSegments * kLanes];
  const int64_t stride = Form::stride(args.k);
  const int64_t rowBytes = Form::kActivation.rowBytes(args.k);
  Form::template compute<P, R>({at<char>(args.weight, panel * stride), stride,
                                at<char>(args.activation, row * rowBytes), rowBytes, args.k, sums,
                                ahead});
  for (int64_t r = 0; r < R; ++r)
    for (int64_t p = 0; p < P; ++p)
      storeColumns(mergeSegments(sums + (r * P + p) * kSegments * kLanes, kLanes),
                   static_cast<const float *>(args.bias),
                   static_cast<float *>(args.out) + (row + r) * args.n, panel + p, args.n);
}

/// The last `rows` < R rows of a run.
template <typename Form, int64_t P, int64_t R, typename Args>
void runLastRows(const Args &args, int64_t panel, int64_t row, int64_t rows, bool ahead) {
  if constexpr (R > 1) {
    if (rows == R - 1)
      runTile<Form, P, R - 1>(args, panel, row, ahead);
    else
      runLastRows<Form, P, R - 1>(args, panel, row, rows, ahead);
  }
}

template <typename Form, int64_t P, int64_t R, typename Args>
void runPanels(const Args &args, int64_t panel, int64_t row, int64_t rows) {
  const int64_t first = row, end = row + rows;
  for (; row + R <= end; row += R)
    runTile<Form, P, R>(args, panel, row, row == first);
  runLastRows<Form, P, R>(args, panel, row, end - row, row == first);
}

template <typename Form, typename Args>
void tiledLinear(const Args &args, int64_t begin, int64_t end) {
  const int64_t rowBytes = Form::kActivation.rowBytes(args.k);
  const int64_t tiles = kRunBytes / (rowBytes * Form::kRows);
  const int64_t run = Form::kRows * (tiles > 0 ? tiles : 1);
  for (int64_t row = 0; row < args.rows; row += run) {
    const int64_t rows = least(run, args.rows - row);
    int64_t panel = begin;
    for (; args.rows > kStreamedRows && panel + Form::kPanels <= end; panel += Form::kPanels)
      runPanels<Form, Form::kPanels, Form::kRows>(args, panel, row, rows);
    for (; panel < end; ++panel)
      runPanels<Form, 1, Form::kRows>(args, panel, row, rows);
  }
}

} // namespace
