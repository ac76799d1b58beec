//===- linear/segments.h - the order in which a linear adds its blocks ----===//
//
// The blocks of K lie in 8 contiguous segments of ceil(blocks / 8). Each accumulates ascending from
// +0; y = ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7)), an empty segment being +0.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/simd/lanes.h"

namespace {

constexpr int64_t kSegments = 8;

inline int64_t segmentBlocks(int64_t blocks) {
  return ceilDiv(blocks, kSegments);
}

/// Calls `inside(block)` for each block, and after the blocks of each segment `close(segment)`,
/// also for the empty segments at the end. Inlined, so that what they add to stays in registers.
template <typename Inside, typename Close>
__attribute__((always_inline)) inline void forSegments(int64_t blocks, int64_t perSegment,
                                                       Inside inside, Close close) {
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

/// How far ahead of the bytes in hand weights are asked for.
constexpr int64_t kPrefetchBytes = 8192;

/// What is read kPrefetchBytes after `offset` of one of P panels that are read side by side; behind
/// the panel's end that is in the panel which is read after it.
template <int64_t P> inline const char *ahead(const char *panel, int64_t stride, int64_t offset) {
  offset += kPrefetchBytes;
  return panel + (offset < stride ? offset : offset + (P - 1) * stride);
}

/// Rows of a run: at most `most`, a multiple of `group`, in runs of nearly equal length.
inline int64_t evenRun(int64_t rows, int64_t most, int64_t group) {
  const int64_t runs = ceilDiv(rows, most);
  return runs > 0 ? ceilDiv(ceilDiv(rows, runs), group) * group : most;
}

/// Segment i lies at sums + i * stride (in floats), a lane for each output row.
inline Lanes mergeSegments(const float *sums, int64_t stride) {
  const auto pair = [&](int64_t i) {
    return add(load(sums + i * stride), load(sums + (i + 1) * stride));
  };
  return add(add(pair(0), pair(2)), add(pair(4), pair(6)));
}

/// rn(y + bias) where there is a bias, then the columns of panel `panel` that exist.
inline void storeColumns(Lanes y, const float *bias, float *outRow, int64_t panel, int64_t n) {
  const int64_t first = panel * kLanes, count = least(kLanes, n - first);
  if (count == kLanes) {
    if (bias)
      y = add(y, load(bias + first));
    store(y, outRow + first);
  } else {
    if (bias)
      y = add(y, loadSome(bias + first, count));
    storeSome(y, outRow + first, count);
  }
}

} // namespace
