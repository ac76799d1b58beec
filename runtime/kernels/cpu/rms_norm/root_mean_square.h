//===- root_mean_square.h - the scale of one vector ------------------------===//
//
//   r = rn(1 / rn(sqrt(rn(rn(S / n) + epsilon)))),  S = 64 lanes of fma(x, x, lane), then their
//   tree
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/simd/lanes.h"

namespace {

inline float sumOfSquares(const float *x, int64_t n) {
  Lanes lane[4] = {zero(), zero(), zero(), zero()};
  int64_t i = 0;
  for (; i + 64 <= n; i += 64)
    for (int64_t j = 0; j < 4; ++j) {
      const Lanes v = load(x + i + j * kLanes);
      lane[j] = fma(v, v, lane[j]);
    }
  if (i < n) { // a lane that has no further element keeps its bits: fma(0, 0, s) is s for s >= 0
    alignas(64) float rest[64] = {};
    for (int64_t j = 0; j < n - i; ++j)
      rest[j] = x[i + j];
    for (int64_t j = 0; j < 4; ++j) {
      const Lanes v = load(rest + j * kLanes);
      lane[j] = fma(v, v, lane[j]);
    }
  }
  return treeSum(add(add(lane[0], lane[2]), add(lane[1], lane[3])));
}

inline float reciprocalOfRoot(const float *x, int64_t n, float epsilon) {
  const float mean = sumOfSquares(x, n) / static_cast<float>(n);
  return 1.0f / __builtin_sqrtf(mean + epsilon);
}

} // namespace
