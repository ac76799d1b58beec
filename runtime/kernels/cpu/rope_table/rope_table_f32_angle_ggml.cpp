// Cosines and sines of each row's position by ggml's angles: a_0 = the position, a_i = rn(a_(i - 1)
// * rn(frequency[1])) in binary32; sincos_f64_v0 of that, rounded to binary32. out f32 [rows][cos
// rope_dims / 2 | sin rope_dims / 2].
#include "writ/kernels/rope_table_f32_angle_ggml.h"
#include "runtime/kernels/cpu/body.h"
#include "runtime/kernels/cpu/math.h"

WRIT_BODY(rope_table_f32_angle_ggml) {
  const auto &args = *static_cast<const rope_table_f32_angle_ggml_args *>(arguments);
  const auto *frequencies = static_cast<const double *>(args.frequencies);
  const auto *position = static_cast<const int32_t *>(args.position);
  const int64_t pairs = args.rope_dims / 2;
  const float ratio = pairs > 1 ? static_cast<float>(frequencies[1]) : 1.0f;
  for (int64_t row = begin; row < end; ++row) {
    float *out = static_cast<float *>(args.out) + row * args.rope_dims;
    auto angle = static_cast<float>(position[row]);
    for (int64_t i = 0; i < pairs; ++i) {
      double sine, cosine;
      sincosF64(static_cast<double>(angle), &sine, &cosine);
      out[i] = static_cast<float>(cosine);
      out[pairs + i] = static_cast<float>(sine);
      angle = angle * ratio;
    }
  }
}
