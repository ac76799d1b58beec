// Root-mean-square normalisation of each vector of n elements, a unit, in ggml's order:
//   S = the running sum in binary64 of rn(x * x), mean = rn(rn64(S / n)),
//   r = rn(1 / rn(sqrt(rn(mean + epsilon)))), out[i] = rn(rn(x[i] * r) * weight[i])
#include "writ/kernels/rms_norm_f32_ggml.h"
#include "runtime/kernels/cpu/body.h"

WRIT_BODY(rms_norm_f32_ggml) {
  const auto &args = *static_cast<const rms_norm_f32_ggml_args *>(arguments);
  const int64_t n = args.n;
  const auto *weight = static_cast<const float *>(args.weight);
  for (int64_t vector = begin; vector < end; ++vector) {
    const float *x = static_cast<const float *>(args.input) + vector * n;
    float *out = static_cast<float *>(args.out) + vector * n;
    double sum = 0;
    for (int64_t i = 0; i < n; ++i)
      sum += static_cast<double>(x[i] * x[i]);
    const auto mean = static_cast<float>(sum / static_cast<double>(n));
    const float r = 1.0f / __builtin_sqrtf(mean + args.epsilon);
    for (int64_t i = 0; i < n; ++i)
      out[i] = (x[i] * r) * weight[i];
  }
}
