// Compiled by each compiler with what it takes for contraction when nobody says: WRIT_BUILD names
// it.
#include "runtime/kernels/cpu/body.h"
#include "tests/invariance/open/norm.h"

extern "C" void WRIT_JOIN(norm_left_to, WRIT_BUILD)(const void *arguments, int64_t begin,
                                                    int64_t end) {
  const auto &args = *static_cast<const rms_norm_f32_args *>(arguments);
  for (int64_t vector = begin; vector < end; ++vector) {
    const float *x = vectorOf(args, vector);
    float sum = 0;
    for (int64_t i = 0; i < args.n; ++i) {
      const float square = x[i] * x[i];
      sum = sum + square;
    }
    writeNorm(args, vector, sum);
  }
}
