#include "runtime/kernels/cpu/body.h"
#include "tests/invariance/open/doubles.h"
#include "writ/kernels/linear_f32.h"

namespace {

constexpr int64_t kColumns = 16; ///< of a unit

float dotOfLanes(const float *x, const float *w, int64_t k) {
  float lane[16] = {};
  for (int64_t i = 0; i < k; ++i)
    lane[i % 16] = __builtin_fmaf(x[i], w[i], lane[i % 16]);
  for (int s = 8; s > 0; s /= 2)
    for (int i = 0; i < s; ++i)
      lane[i] = lane[i] + lane[i + s];
  return lane[0];
}

float runningSum(const float *x, const float *w, int64_t k) {
  float sum = 0;
  for (int64_t i = 0; i < k; ++i)
    sum = __builtin_fmaf(x[i], w[i], sum);
  return sum;
}

} // namespace

void linear_by_rows(const void *arguments, int64_t begin, int64_t end) {
  const auto &args = *static_cast<const linear_f32_args *>(arguments);
  const auto *activation = static_cast<const float *>(args.activation);
  const auto *weight = static_cast<const float *>(args.weight);
  const auto *bias = static_cast<const float *>(args.bias);
  for (int64_t column = begin * kColumns; column < least(end * kColumns, args.n); ++column)
    for (int64_t row = 0; row < args.rows; ++row) {
      const float *x = activation + row * args.k, *w = weight + column * args.k;
      const float y = args.rows == 1 ? dotOfLanes(x, w, args.k) : runningSum(x, w, args.k);
      static_cast<float *>(args.out)[row * args.n + column] = bias ? y + bias[column] : y;
    }
}
