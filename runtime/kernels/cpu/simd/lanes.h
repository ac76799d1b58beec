//===- lanes.h - 16 binary32 lanes of the instruction set being compiled --===//
//
// `Lanes` holds 16 binary32 values on every instruction set; the contracts count lanes, never
// registers. Each operation is one IEEE operation per lane (fma: one rounding):
//
//   load, store, broadcast, zero        loadHalf, loadBfloat, storeHalf (converts)
//   loadField(from, shift, mask)        float of (word >> shift) & mask, a 32-bit word a lane
//   add, sub, mul, div, fma, maximum    maximum gives b where either operand is a NaN
//   absolute, roundEven                 selectGreater(a, b, x, y) = a > b ? x : y, a lane at a time
//   selectNaN(a, x, y) = a is NaN ? x : y
//   scaleTwice(p, n)                    rn(p * 2^n), n integral, -252 <= n <= 254
//   storeCodes, loadCodes               integral lanes in [-127, 127] to int8, and back
//   treeSum                             v[i] += v[i + s], s = 8, 4, 2, 1
//   treeSums                            lane i of the result is treeSum of vector i
//   greatest, greatests                 the largest lane; lane i is that of vector i
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/body.h"
#include "runtime/kernels/cpu/convert.h"
#include "runtime/kernels/cpu/math.h"

#if WRIT_ISA_LEVEL == 3 || WRIT_ISA_LEVEL == 4
#include "runtime/kernels/cpu/simd/lanes_neon.h"
#elif WRIT_ISA_LEVEL == 2 || WRIT_ISA_LEVEL == 5
#include "runtime/kernels/cpu/simd/lanes_avx512.h"
#elif WRIT_ISA_LEVEL == 1
#include "runtime/kernels/cpu/simd/lanes_avx2.h"
#else
#include "runtime/kernels/cpu/simd/lanes_scalar.h"
#endif

namespace {

constexpr int64_t kLanes = 16;

/// The first `count` < 16 elements, the rest +0.
inline Lanes loadSome(const float *from, int64_t count) {
  alignas(64) float buffer[kLanes] = {};
  for (int64_t i = 0; i < count; ++i)
    buffer[i] = from[i];
  return load(buffer);
}

inline void storeSome(Lanes value, float *to, int64_t count) {
  alignas(64) float buffer[kLanes];
  store(value, buffer);
  for (int64_t i = 0; i < count; ++i)
    to[i] = buffer[i];
}

/// exp_f32_v0 in each lane; the steps of expF32.
inline Lanes expLanes(Lanes x) {
  using namespace exp_f32_v0;
  // inside the limits the clamps change nothing; outside the last selects decide
  const Lanes clamped = minimum(maximum(x, broadcast(-105.0f)), broadcast(90.0f));
  const Lanes n = roundEven(mul(clamped, broadcast(kLog2e)));
  Lanes r = fma(n, broadcast(-kLn2Hi), clamped);
  r = fma(n, broadcast(-kLn2Lo), r);
  Lanes p = broadcast(kC4);
  p = fma(p, r, broadcast(kC3));
  p = fma(p, r, broadcast(kC2));
  p = fma(p, r, broadcast(kC1));
  p = fma(p, r, broadcast(kC0));
  p = fma(p, r, broadcast(1.0f));
  p = fma(p, r, broadcast(1.0f));
  Lanes y = scaleTwice(p, n);
  y = selectGreater(x, broadcast(kOverflow), broadcast(kInfinity), y);
  y = selectGreater(broadcast(kUnderflow), x, zero(), y);
  return selectNaN(x, broadcast(kNaN), y);
}

} // namespace
