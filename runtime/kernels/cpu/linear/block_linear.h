//===- linear/block_linear.h - 8-bit activation codes, block weights ------===//
//
//   out[r][j] = sum over blocks b of d_a[r][b] * t (+ bias[j]), one fma a block, in segments.h's
//   order I = sum of w * q, A = sum of q over the 32 elements of the block, exact; each converted
//   once (rn) q4_0, q8_0 (w centred): t = rn(d_w * I)      q4_1: t = fma(d_w, I, rn(m_w * A))
//
// activation i8_b32_sf32 [rows][k], weight [n][k] in panel16_k4 panels, out f32 [rows][n]. A unit
// is one panel. The rows are taken in runs whose codes stay in the cache while the panels pass by;
// a run is taken in tiles of panels and rows whose accumulators lie in registers (the dot_*.h of
// simd/).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/linear/decode.h"
#include "runtime/kernels/cpu/linear/segments.h"

namespace {

/// A tile of P panels and R rows. `sums` receives [R][P][kSegments][16] segment sums.
struct BlockTile {
  const void *panel; ///< the first panel; the others follow at panelStride
  int64_t panelStride;
  const void *activation; ///< the first row; the others follow at rowBytes
  int64_t rowBytes;
  int64_t k;
  float *sums;
  bool ahead; ///< the panels are new to the cache: ask for what follows them
};

inline const int8_t *tileCodes(const BlockTile &tile, int64_t row) {
  return at<int8_t>(tile.activation, row * tile.rowBytes);
}
inline const float *tileScales(const BlockTile &tile, int64_t row) {
  return at<float>(tile.activation, row * tile.rowBytes + tile.k);
}
inline const int32_t *tileSums(const BlockTile &tile, int64_t row) {
  return at<int32_t>(tile.activation, row * tile.rowBytes + tile.k + tile.k / kBlockElements * 4);
}

/// Calls `inside(block)` for each block, and after the blocks of each segment `close(segment)`,
/// also for the empty segments at the end.
template <typename Inside, typename Close>
inline void forSegments(int64_t blocks, Inside inside, Close close) {
  const int64_t perSegment = segmentBlocks(blocks);
  int64_t segment = 0, left = perSegment;
  for (int64_t block = 0; block < blocks; ++block) { // one loop: a segment may be a single block
    inside(block);
    if (--left == 0 || block + 1 == blocks) {
      close(segment++);
      left = perSegment;
    }
  }
  for (; segment < kSegments; ++segment)
    close(segment);
}

} // namespace

#if WRIT_ISA_LEVEL == 2
#include "runtime/kernels/cpu/simd/dot_avx512.h"
#elif WRIT_ISA_LEVEL == 1
#include "runtime/kernels/cpu/simd/dot_avx2.h"
#else
#include "runtime/kernels/cpu/simd/dot_scalar.h"
#endif

namespace {

/// Bytes of activation codes that pass over a panel before the next panel is taken.
constexpr int64_t kRunBytes = 192 * 1024;

template <typename Format, int64_t P, int64_t R, typename Args>
void runTile(const Args &args, int64_t panel, int64_t row, bool ahead) {
  alignas(64) float sums[R * P * kSegments * kLanes];
  const int64_t stride = BlockPanels<Format>::stride(args.k);
  const int64_t rowBytes = writ::activationCodesRowBytes(args.k);
  computeTile<Format, P, R>({at<char>(args.weight, panel * stride), stride,
                             at<char>(args.activation, row * rowBytes), rowBytes, args.k, sums,
                             ahead});
  for (int64_t r = 0; r < R; ++r)
    for (int64_t p = 0; p < P; ++p)
      storeColumns(mergeSegments(sums + (r * P + p) * kSegments * kLanes, kLanes),
                   static_cast<const float *>(args.bias),
                   static_cast<float *>(args.out) + (row + r) * args.n, panel + p, args.n);
}

/// The last `rows` < R rows of a run.
template <typename Format, int64_t P, int64_t R, typename Args>
void runLastRows(const Args &args, int64_t panel, int64_t row, int64_t rows, bool ahead) {
  if constexpr (R > 1) {
    if (rows == R - 1)
      runTile<Format, P, R - 1>(args, panel, row, ahead);
    else
      runLastRows<Format, P, R - 1>(args, panel, row, rows, ahead);
  }
}

template <typename Format, int64_t P, int64_t R, typename Args>
void runPanels(const Args &args, int64_t panel, int64_t row, int64_t rows) {
  const int64_t first = row, end = row + rows;
  for (; row + R <= end; row += R)
    runTile<Format, P, R>(args, panel, row, row == first);
  runLastRows<Format, P, R>(args, panel, row, end - row, row == first);
}

template <typename Format, typename Args>
void blockLinear(const Args &args, int64_t begin, int64_t end) {
  const int64_t rowBytes = writ::activationCodesRowBytes(args.k);
  const int64_t tiles = kRunBytes / (rowBytes * kTileRows);
  const int64_t run = kTileRows * (tiles > 0 ? tiles : 1);
  for (int64_t row = 0; row < args.rows; row += run) {
    const int64_t rows = least(run, args.rows - row);
    int64_t panel = begin;
    for (; panel + kTilePanels <= end; panel += kTilePanels)
      runPanels<Format, kTilePanels, kTileRows>(args, panel, row, rows);
    for (; panel < end; ++panel)
      runPanels<Format, 1, kTileRows>(args, panel, row, rows);
  }
}

} // namespace
