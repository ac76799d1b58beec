// Activation codes in blocks of 32 of rn(gelu_tanh(gate) * up); see gated_codes.h.
#include "writ/kernels/gelu_tanh_gate_f32_quantize_i8_b32.h"
#include "runtime/kernels/cpu/gate_quantize/gated_codes.h"
#include "runtime/kernels/cpu/simd/activations.h"

WRIT_BODY(gelu_tanh_gate_f32_quantize_i8_b32) {
  gateAndQuantizeRows<writ::kActivationB32, int32_t>(
      *static_cast<const gelu_tanh_gate_f32_quantize_i8_b32_args *>(arguments), begin, end,
      [](Lanes x) { return geluTanhLanes(x); });
}
