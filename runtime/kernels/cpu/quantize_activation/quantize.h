//===- quantize.h - the codes of one block --------------------------------===//
//
//   d = rn(amax / 127), q = rint(rn(x * rn(127 / amax))) of each block
//
// amax < 2^-120: d = 0, codes 0. A NaN or an infinity in the block: d = NaN, codes 0. Rows of codes
// are made by code_rows.h.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/simd/lanes.h"

namespace {

/// Gives the scale.
template <int64_t elements> float quantizeBlock(const float *x, int8_t *codes) {
  // maximum drops a NaN that is its first operand: a NaN counts as an infinity
  Lanes most = zero();
  for (int64_t i = 0; i < elements; i += kLanes) {
    const Lanes v = load(x + i);
    most = maximum(most, selectNaN(v, broadcast(kInfinity), absolute(v)));
  }
  const float amax = greatest(most);
  if (amax == kInfinity || amax < 0x1p-120f) {
    for (int64_t i = 0; i < elements; ++i)
      codes[i] = 0;
    return amax == kInfinity ? kNaN : 0.0f;
  }
  const Lanes inverse = broadcast(127.0f / amax);
  for (int64_t i = 0; i < elements; i += kLanes)
    storeCodes(roundEven(mul(load(x + i), inverse)), codes + i);
  return amax / 127.0f;
}

} // namespace
