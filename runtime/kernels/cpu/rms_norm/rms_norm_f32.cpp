// Root-mean-square normalisation of each vector of n elements, a unit; a row holds one or, where
// each head is normalised by itself, several:
//   out[i] = rn(rn(x[i] * r) * weight[i]),  r as in root_mean_square.h
#include "writ/kernels/rms_norm_f32.h"
#include "runtime/kernels/cpu/rms_norm/root_mean_square.h"

WRIT_BODY(rms_norm_f32) {
  const auto &args = *static_cast<const rms_norm_f32_args *>(arguments);
  const int64_t n = args.n;
  const auto *weight = static_cast<const float *>(args.weight);
  for (int64_t vector = begin; vector < end; ++vector) {
    const float *x = static_cast<const float *>(args.input) + vector * n;
    float *out = static_cast<float *>(args.out) + vector * n;
    const float r = reciprocalOfRoot(x, n, args.epsilon);
    const Lanes scale = broadcast(r);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
      store(mul(mul(load(x + i), scale), load(weight + i)), out + i);
    for (; i < n; ++i)
      out[i] = (x[i] * r) * weight[i];
  }
}
