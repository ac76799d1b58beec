// Activation codes of each block of 32: d = rn(amax / 127), q = rint(rn(x * rn(127 / amax))).
//   amax < 2^-120: d = 0, codes 0. A NaN or an infinity in the block: d = NaN, codes 0.
// A row of out is k codes (int8), k / 32 scales (f32), k / 32 sums of the codes (int32), and zero
// bytes up to a multiple of 64.
#include "writ/kernels/quantize_activation_i8_b32.h"
#include "runtime/kernels/cpu/simd/lanes.h"
#include "writ/packed_layout.h"

namespace {

struct BlockCodes {
  float scale;
  int32_t sum;
};

BlockCodes quantizeBlock(const float *x, int8_t *codes) {
  const Lanes a = load(x), b = load(x + kLanes);
  // maximum drops a NaN that is its first operand: a NaN counts as an infinity
  const auto magnitude = [](Lanes v) { return selectNaN(v, broadcast(kInfinity), absolute(v)); };
  const float amax = greatest(maximum(magnitude(a), magnitude(b)));
  if (amax == kInfinity || amax < 0x1p-120f) {
    for (int64_t i = 0; i < 32; ++i)
      codes[i] = 0;
    return {amax == kInfinity ? kNaN : 0.0f, 0};
  }
  const Lanes inverse = broadcast(127.0f / amax);
  storeCodes(roundEven(mul(a, inverse)), codes);
  storeCodes(roundEven(mul(b, inverse)), codes + kLanes);
  int32_t sum = 0;
  for (int64_t i = 0; i < 32; ++i)
    sum += codes[i];
  return {amax / 127.0f, sum};
}

} // namespace

WRIT_BODY(quantize_activation_i8_b32) {
  const auto &args = *static_cast<const quantize_activation_i8_b32_args *>(arguments);
  const int64_t k = args.k, blocks = k / writ::kBlockElements;
  const int64_t rowBytes = writ::activationCodesRowBytes(k);
  for (int64_t row = begin; row < end; ++row) {
    const float *x = static_cast<const float *>(args.input) + row * k;
    char *out = at<char>(args.out, row * rowBytes);
    auto *codes = at<int8_t>(out, 0);
    auto *scales = at<float>(out, k);
    auto *sums = at<int32_t>(out, k + 4 * blocks);
    for (int64_t block = 0; block < blocks; ++block) {
      const BlockCodes result = quantizeBlock(x + block * 32, codes + block * 32);
      scales[block] = result.scale;
      sums[block] = result.sum;
    }
    for (int64_t i = k + 8 * blocks; i < rowBytes; ++i)
      out[i] = 0;
  }
}
