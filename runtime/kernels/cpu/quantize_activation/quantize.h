//===- quantize.h - activation codes of one row ---------------------------===//
//
//   d = rn(amax / 127), q = rint(rn(x * rn(127 / amax))) of each block
//
// amax < 2^-120: d = 0, codes 0. A NaN or an infinity in the block: d = NaN, codes 0. A row of out
// is the codes, the scales, the sums (writ/packed_layout.h), and zero bytes up to a multiple of 64.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/simd/lanes.h"
#include "writ/packed_layout.h"

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

/// Rows [begin, end). Sum is the type of the layout's sums.
template <const writ::ActivationCodes &layout, typename Sum, typename Args>
void quantizeRows(const Args &args, int64_t begin, int64_t end) {
  static_assert(sizeof(Sum) == layout.sumBytes);
  const int64_t k = args.k;
  for (int64_t row = begin; row < end; ++row) {
    const float *x = static_cast<const float *>(args.input) + row * k;
    char *out = at<char>(args.out, row * layout.rowBytes(k));
    auto *codes = at<int8_t>(out, 0);
    auto *scales = at<float>(out, layout.scales(k));
    auto *sums = at<Sum>(out, layout.sums(k));
    for (int64_t block = 0; block < k / layout.block; ++block)
      scales[block] =
          quantizeBlock<layout.block>(x + block * layout.block, codes + block * layout.block);
    for (int64_t run = 0; run < k / layout.sumElements; ++run) {
      int32_t sum = 0;
      for (int64_t i = 0; i < layout.sumElements; ++i)
        sum += codes[run * layout.sumElements + i];
      sums[run] = static_cast<Sum>(sum);
    }
    for (int64_t i = layout.end(k); i < layout.rowBytes(k); ++i)
      out[i] = 0;
  }
}

} // namespace
