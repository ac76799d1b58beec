// out = rn(silu(gate) * up), each f32 [rows][n]; silu_f32_v0. See gated.h.
#include "writ/kernels/silu_gate_f32.h"
#include "runtime/kernels/cpu/gate/gated.h"
#include "runtime/kernels/cpu/simd/activations.h"

WRIT_BODY(silu_gate_f32) {
  gateRows(
      *static_cast<const silu_gate_f32_args *>(arguments), begin, end,
      [](Lanes x) { return siluLanes(x); }, [](float x) { return siluF32(x); });
}
