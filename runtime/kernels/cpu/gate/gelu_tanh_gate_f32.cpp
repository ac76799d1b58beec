// out = rn(gelu_tanh(gate) * up), each f32 [rows][n]; gelu_tanh_f32_v0. See gated.h.
#include "writ/kernels/gelu_tanh_gate_f32.h"
#include "runtime/kernels/cpu/gate/gated.h"
#include "runtime/kernels/cpu/simd/activations.h"

WRIT_BODY(gelu_tanh_gate_f32) {
  gateRows(
      *static_cast<const gelu_tanh_gate_f32_args *>(arguments), begin, end,
      [](Lanes x) { return geluTanhLanes(x); }, [](float x) { return geluTanhF32(x); });
}
