// out = rn(gelu(gate) * up), each f32 [rows][n]; gelu_f16_ggml_v0. See functions_ggml.h.
#include "writ/kernels/gelu_tanh_gate_f16_ggml.h"
#include "runtime/kernels/cpu/functions_ggml.h"
#include "runtime/kernels/cpu/gate/one_by_one.h"

WRIT_BODY(gelu_tanh_gate_f16_ggml) {
  gateRowsOneByOne(*static_cast<const gelu_tanh_gate_f16_ggml_args *>(arguments), begin, end,
                   [](float x) { return geluF16Ggml(x); });
}
