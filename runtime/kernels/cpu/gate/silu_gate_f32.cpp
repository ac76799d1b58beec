// out = rn(silu(gate) * up), each f32 [rows][n]; silu_f32_v0.
#include "writ/kernels/silu_gate_f32.h"
#include "runtime/kernels/cpu/simd/lanes.h"

WRIT_BODY(silu_gate_f32) {
  const auto &args = *static_cast<const silu_gate_f32_args *>(arguments);
  const int64_t n = args.n;
  for (int64_t row = begin; row < end; ++row) {
    const float *gate = static_cast<const float *>(args.gate) + row * n;
    const float *up = static_cast<const float *>(args.up) + row * n;
    float *out = static_cast<float *>(args.out) + row * n;
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
      store(mul(siluLanes(load(gate + i)), load(up + i)), out + i);
    for (; i < n; ++i)
      out[i] = siluF32(gate[i]) * up[i];
  }
}
