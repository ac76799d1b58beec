// Activation codes in blocks of 256 of rn(silu(gate) * up); see gated_codes.h.
#include "writ/kernels/silu_gate_f32_quantize_i8_b256.h"
#include "runtime/kernels/cpu/gate_quantize/gated_codes.h"
#include "runtime/kernels/cpu/simd/activations.h"

WRIT_BODY(silu_gate_f32_quantize_i8_b256) {
  gateAndQuantizeRows<writ::kActivationB256, int16_t>(
      *static_cast<const silu_gate_f32_quantize_i8_b256_args *>(arguments), begin, end,
      [](Lanes x) { return siluLanes(x); });
}
