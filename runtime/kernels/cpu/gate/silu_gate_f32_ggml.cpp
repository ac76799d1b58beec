// out = rn(silu(gate) * up), each f32 [rows][n]; silu_f32_ggml_v0. See functions_ggml.h.
#include "writ/kernels/silu_gate_f32_ggml.h"
#include "runtime/kernels/cpu/functions_ggml.h"
#include "runtime/kernels/cpu/gate/one_by_one.h"

WRIT_BODY(silu_gate_f32_ggml) {
  gateRowsOneByOne(*static_cast<const silu_gate_f32_ggml_args *>(arguments), begin, end,
                   [](float x) { return siluF32Ggml(x); });
}
