//===- quantize_ggml.h - activation codes of ggml's blocks ----------------===//
//
//   q8_0, q8_1  d = rn(amax / 127), stored in binary16; v = rint(rn(x * rn(127 / amax))), or -2^31
//               where that is not finite; the code is v limited to [-128, 127]; q8_1 holds also
//               s = rn(d * the sum of v in 32 bits that wrap), stored in binary16
//   q8_k        m: the first x of the largest |x|; the code is rint(rn(x * rn(-127 / m))), or 0
//               where that is not finite; d = rn(1 / rn(-127 / m)), and the sums of each 16 codes
//
// A block of zeros: d = 0, codes 0. A NaN or an infinity in the block: d = NaN, codes 0.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/body.h"
#include "runtime/kernels/cpu/convert.h"
#include "writ/packed_layout.h"

namespace {

/// The element of the largest magnitude, the first of several; an infinity where one is not finite.
inline float largestOf(const float *x, int64_t elements) {
  float largest = 0.0f, amax = 0.0f;
  for (int64_t i = 0; i < elements; ++i) {
    const float size = __builtin_fabsf(x[i]);
    if (!(size < kInfinity))
      return kInfinity;
    if (size > amax) {
      amax = size;
      largest = x[i];
    }
  }
  return largest;
}

inline void storeHalf(float value, char *to) {
  const uint16_t half = halfFromFloat(value);
  __builtin_memcpy(to, &half, 2);
}

/// Rows [begin, end) of q8_0 or q8_1.
template <const writ::ActivationBlocks &layout, typename Args>
void quantizeBlocks(const Args &args, int64_t begin, int64_t end) {
  constexpr int64_t elements = layout.elements;
  const int64_t blocks = args.k / elements;
  for (int64_t b = begin * blocks; b < end * blocks; ++b) {
    const float *x = static_cast<const float *>(args.input) + b * elements;
    char *out = at<char>(args.out, b * layout.bytes);
    auto *codes = at<int8_t>(out, layout.codes);
    const float amax = __builtin_fabsf(largestOf(x, elements));
    const bool coded = amax != 0.0f && amax != kInfinity;
    const float inverse = coded ? 127.0f / amax : 0.0f;
    uint32_t sum = 0;
    for (int64_t i = 0; i < elements; ++i) {
      const float scaled = coded ? x[i] * inverse : 0.0f;
      const bool finite = __builtin_fabsf(scaled) < kInfinity;
      const int32_t v = finite ? static_cast<int32_t>(roundToInteger(scaled)) : INT32_MIN;
      codes[i] = static_cast<int8_t>(v < -128 ? -128 : v);
      sum += static_cast<uint32_t>(v);
    }
    const float d = amax == kInfinity ? kNaN : amax / 127.0f;
    storeHalf(d, out);
    if constexpr (layout.valueSum != 0)
      storeHalf(d * static_cast<float>(static_cast<int32_t>(sum)), out + layout.valueSum);
  }
}

/// Rows [begin, end) of q8_k.
template <typename Args> void quantizeSuperBlocks(const Args &args, int64_t begin, int64_t end) {
  constexpr const writ::ActivationBlocks &layout = writ::kActivationQ8_K;
  const int64_t blocks = args.k / layout.elements;
  for (int64_t b = begin * blocks; b < end * blocks; ++b) {
    const float *x = static_cast<const float *>(args.input) + b * layout.elements;
    char *out = at<char>(args.out, b * layout.bytes);
    auto *codes = at<int8_t>(out, layout.codes);
    const float largest = largestOf(x, layout.elements);
    const bool coded = largest != 0.0f && largest != kInfinity;
    const float inverse = coded ? -127.0f / largest : 0.0f;
    int16_t sums[layout.elements / 16] = {};
    for (int64_t i = 0; i < layout.elements; ++i) {
      const float scaled = coded ? x[i] * inverse : 0.0f;
      const bool finite = __builtin_fabsf(scaled) < kInfinity;
      codes[i] = finite ? static_cast<int8_t>(roundToInteger(scaled)) : int8_t{0};
      sums[i / 16] = static_cast<int16_t>(sums[i / 16] + codes[i]);
    }
    const float d = largest == kInfinity ? kNaN : coded ? 1.0f / inverse : 0.0f;
    __builtin_memcpy(out, &d, 4);
    __builtin_memcpy(out + layout.codeSums, sums, sizeof(sums));
  }
}

} // namespace
