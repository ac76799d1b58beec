//===- linear/pair_linear.h - bfloat16 products added pair by pair --------===//
//
//   out[r][j] = sum over i of x[r][i] * weight[j][i] (+ bias[j]), x = the activation in bfloat16
//   activation f32 [rows][k], k even, weight bf16 [n][k] in panels of 16 rows, out f32 [rows][n]
//
// In each segment of segments.h the pairs (2i, 2i + 1) ascend, of a pair the second first; each
// multiply-add rounds once and counts a subnormal operand or result as zero of its sign, a result
// being subnormal if 24 bits with an exponent without a limit leave it below 2^-126. vdpbf16ps does
// that by itself, fma in the environment that FlushSubnormals sets; lanes without either look at
// each sum in binary64, where the product and every sum near 2^-126 are exact. A unit is one panel.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/linear/decode.h"
#include "runtime/kernels/cpu/linear/segments.h"

#if WRIT_ISA_LEVEL == 5
#include "runtime/kernels/cpu/simd/dot_bf16.h"
#else

#if WRIT_ISA_LEVEL != 0
#include <immintrin.h>
#endif

namespace {

inline float flushed(float x) {
  return __builtin_fabsf(x) < 0x1p-126f ? __builtin_copysignf(0.0f, x) : x;
}

/// A subnormal as zero, rounded to bfloat16 (nearest even), in binary32.
inline float roundedToBfloat(float x) {
  uint32_t bits = bitsOfFloat(flushed(x));
  if (x == x) // a carry runs into the exponent
    bits += 0x7fff + (bits >> 16 & 1);
  else
    bits |= 0x400000; // a NaN stays one
  return floatFromBits(bits & 0xffff0000u);
}

#if WRIT_ISA_LEVEL == 0
inline float fmaFlushed(float a, float b, float c) {
  const double sum = static_cast<double>(a) * b + c;
  if (__builtin_fabs(sum) < 0x1.ffffffp-127) // a tie rounds to 2^-126
    return __builtin_copysignf(0.0f, static_cast<float>(sum));
  return __builtin_fmaf(a, b, c);
}
inline Lanes fmaFlushed(Lanes a, Lanes b, Lanes c) {
  float x[kLanes], y[kLanes], z[kLanes];
  store(a, x), store(b, y), store(c, z);
  for (int64_t i = 0; i < kLanes; ++i)
    z[i] = fmaFlushed(flushed(x[i]), y[i], z[i]);
  return load(z);
}
struct FlushSubnormals {
  FlushSubnormals() {} // each sum is looked at
};
#else
inline Lanes fmaFlushed(Lanes a, Lanes b, Lanes c) {
  return fma(a, b, c);
}
/// Subnormals are zero, read and written, as long as it lives.
class FlushSubnormals {
public:
  FlushSubnormals() { _mm_setcsr(found | kFlushToZero | kDenormalsAreZero); }
  ~FlushSubnormals() { _mm_setcsr(found); }
  FlushSubnormals(const FlushSubnormals &) = delete;
  FlushSubnormals &operator=(const FlushSubnormals &) = delete;

private:
  static constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x40;
  const unsigned found = _mm_getcsr();
};
#endif

/// Rows that share a decoded block, and rows whose sums lie in registers together.
constexpr int64_t kPairRows = 24, kPairGroup = 6;

/// sums[r] += block * x[r] for R rows; `columns` as decodeColumns leaves them. Not inlined, so that
/// no operation leaves the environment that the caller has set.
template <int64_t R>
__attribute__((noinline)) void addPairs(const float *columns, const float (*x)[kBlockElements],
                                        int64_t count, float *sums) {
  Lanes acc[R];
  for (int64_t r = 0; r < R; ++r)
    acc[r] = load(sums + r * kLanes);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = i ^ 1;
    const Lanes w = load(columns + at * kLanes);
    for (int64_t r = 0; r < R; ++r)
      acc[r] = fmaFlushed(w, broadcast(x[r][at]), acc[r]);
  }
  for (int64_t r = 0; r < R; ++r)
    store(acc[r], sums + r * kLanes);
}

template <typename Args> void pairLinear(const Args &args, int64_t begin, int64_t end) {
  using Panels = ScalarPanels<Bf16Weights>;
  const int64_t k = args.k, n = args.n, blocks = ceilDiv(k, kBlockElements);
  const int64_t perSegment = segmentBlocks(blocks);
  alignas(64) float columns[kBlockElements * kPanelRows];
  alignas(64) float sums[kSegments][kPairRows][kLanes];
  float x[kPairRows][kBlockElements];
  for (int64_t panel = begin; panel < end; ++panel) {
    const void *weights = at<char>(args.weight, panel * Panels::stride(k));
    for (int64_t first = 0; first < args.rows; first += kPairRows) {
      const int64_t rows = least(kPairRows, args.rows - first);
      for (int64_t s = 0; s < kSegments; ++s)
        for (int64_t r = 0; r < rows; ++r)
          store(zero(), sums[s][r]);
      for (int64_t block = 0; block < blocks; ++block) {
        Panels::decodeColumns(weights, block, k, columns);
        const int64_t at = block * kBlockElements, count = least(kBlockElements, k - at);
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t i = 0; i < count; ++i)
            x[r][i] = roundedToBfloat(
                static_cast<const float *>(args.activation)[(first + r) * k + at + i]);
        float(*segment)[kLanes] = sums[block / perSegment];
        const FlushSubnormals environment;
        int64_t r = 0;
        for (; r + kPairGroup <= rows; r += kPairGroup)
          addPairs<kPairGroup>(columns, x + r, count, segment[r]);
        for (; r < rows; ++r)
          addPairs<1>(columns, x + r, count, segment[r]);
      }
      for (int64_t r = 0; r < rows; ++r)
        storeColumns(mergeSegments(sums[0][r], kPairRows * kLanes),
                     static_cast<const float *>(args.bias),
                     static_cast<float *>(args.out) + (first + r) * n, panel, n);
    }
  }
}

} // namespace
#endif
