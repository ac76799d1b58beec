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
