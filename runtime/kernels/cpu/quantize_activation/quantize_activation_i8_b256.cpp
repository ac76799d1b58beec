// Activation codes of each block of 256; see code_rows.h.
#include "writ/kernels/quantize_activation_i8_b256.h"
#include "runtime/kernels/cpu/quantize_activation/code_rows.h"

WRIT_BODY(quantize_activation_i8_b256) {
  quantizeRows<writ::kActivationB256, int16_t>(
      *static_cast<const quantize_activation_i8_b256_args *>(arguments), begin, end);
}
