// out = rn(cap * tanh_f32_v0(rn(input / cap))), each f32 [rows][n]. `out` may be `input`.
#include "writ/kernels/soft_cap_f32.h"
#include "runtime/kernels/cpu/simd/soft_cap.h"

WRIT_BODY(soft_cap_f32) {
  const auto &args = *static_cast<const soft_cap_f32_args *>(arguments);
  const float *input = static_cast<const float *>(args.input);
  float *out = static_cast<float *>(args.out);
  const int64_t last = end * args.n;
  int64_t i = begin * args.n;
  for (; i + kLanes <= last; i += kLanes)
    store(capLanes(load(input + i), args.cap), out + i);
  for (; i < last; ++i)
    out[i] = capF32(input[i], args.cap);
}
