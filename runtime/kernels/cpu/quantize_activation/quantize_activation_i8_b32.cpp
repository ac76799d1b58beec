// Activation codes of each block of 32; see code_rows.h.
#include "writ/kernels/quantize_activation_i8_b32.h"
#include "runtime/kernels/cpu/quantize_activation/code_rows.h"

WRIT_BODY(quantize_activation_i8_b32) {
  quantizeRows<writ::kActivationB32, int32_t>(
      *static_cast<const quantize_activation_i8_b32_args *>(arguments), begin, end);
}
