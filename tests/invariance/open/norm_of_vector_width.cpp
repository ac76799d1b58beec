// Compiled for each instruction set, as kernels are.
#include "runtime/kernels/cpu/body.h"
#include "tests/invariance/open/norm.h"

namespace {

#if WRIT_ISA_LEVEL == 0
constexpr int kWidth = 1;
#elif defined(__AVX512F__)
constexpr int kWidth = 16;
#elif defined(__AVX2__)
constexpr int kWidth = 8;
#else
constexpr int kWidth = 4; // NEON
#endif

float sumOfSquares(const float *x, int64_t n) {
  float lane[kWidth] = {};
  for (int64_t i = 0; i < n; ++i)
    lane[i % kWidth] = __builtin_fmaf(x[i], x[i], lane[i % kWidth]);
  for (int s = kWidth / 2; s > 0; s /= 2)
    for (int i = 0; i < s; ++i)
      lane[i] = lane[i] + lane[i + s];
  return lane[0];
}

} // namespace

WRIT_BODY(norm_of_vector_width) {
  const auto &args = *static_cast<const rms_norm_f32_args *>(arguments);
  for (int64_t vector = begin; vector < end; ++vector)
    writeNorm(args, vector, sumOfSquares(vectorOf(args, vector), args.n));
}
