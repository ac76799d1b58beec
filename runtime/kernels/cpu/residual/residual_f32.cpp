// out = rn(a + b), each f32 [rows][n]. `out` may be `a` or `b`.
#include "writ/kernels/residual_f32.h"
#include "runtime/kernels/cpu/simd/lanes.h"

WRIT_BODY(residual_f32) {
  const auto &args = *static_cast<const residual_f32_args *>(arguments);
  const float *a = static_cast<const float *>(args.a);
  const float *b = static_cast<const float *>(args.b);
  float *out = static_cast<float *>(args.out);
  const int64_t last = end * args.n;
  int64_t i = begin * args.n;
  for (; i + kLanes <= last; i += kLanes)
    store(add(load(a + i), load(b + i)), out + i);
  for (; i < last; ++i)
    out[i] = a[i] + b[i];
}
