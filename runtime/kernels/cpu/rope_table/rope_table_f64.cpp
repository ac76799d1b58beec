// Cosines and sines of each row's position: angle = rn64(position * frequency[i]), sincos_f64_v0,
// then rounded to binary32. out f32 [rows][cos rope_dims / 2 | sin rope_dims / 2].
#include "writ/kernels/rope_table_f64.h"
#include "runtime/kernels/cpu/body.h"
#include "runtime/kernels/cpu/math.h"

WRIT_BODY(rope_table_f64) {
  const auto &args = *static_cast<const rope_table_f64_args *>(arguments);
  const auto *frequencies = static_cast<const double *>(args.frequencies);
  const auto *position = static_cast<const int32_t *>(args.position);
  const int64_t pairs = args.rope_dims / 2;
  for (int64_t row = begin; row < end; ++row) {
    float *out = static_cast<float *>(args.out) + row * args.rope_dims;
    for (int64_t i = 0; i < pairs; ++i) {
      double sine, cosine;
      sincosF64(static_cast<double>(position[row]) * frequencies[i], &sine, &cosine);
      out[i] = static_cast<float>(cosine);
      out[pairs + i] = static_cast<float>(sine);
    }
  }
}
