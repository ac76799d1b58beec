// Root-mean-square normalisation of each vector of n elements, a unit; a row holds one or, where
// each head is normalised by itself, several:
//   r = rn(1 / rn(sqrt(rn(rn(S / n) + epsilon)))),  S = 64 lanes of fma(x, x, lane), then their
//   tree out[i] = rn(rn(x[i] * r) * weight[i])
#include "writ/kernels/rms_norm_f32.h"
#include "runtime/kernels/cpu/simd/lanes.h"

namespace {

float sumOfSquares(const float *x, int64_t n) {
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

} // namespace

WRIT_BODY(rms_norm_f32) {
  const auto &args = *static_cast<const rms_norm_f32_args *>(arguments);
  const int64_t n = args.n;
  const auto *weight = static_cast<const float *>(args.weight);
  for (int64_t vector = begin; vector < end; ++vector) {
    const float *x = static_cast<const float *>(args.input) + vector * n;
    float *out = static_cast<float *>(args.out) + vector * n;
    const float mean = sumOfSquares(x, n) / static_cast<float>(n);
    const float r = 1.0f / __builtin_sqrtf(mean + args.epsilon);
    const Lanes scale = broadcast(r);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
      store(mul(mul(load(x + i), scale), load(weight + i)), out + i);
    for (; i < n; ++i)
      out[i] = (x[i] * r) * weight[i];
  }
}
