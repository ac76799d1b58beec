// Activation codes of ggml's q8_0; see quantize_ggml.h.
#include "writ/kernels/quantize_activation_q8_0_ggml.h"
#include "runtime/kernels/cpu/quantize_activation/quantize_ggml.h"

WRIT_BODY(quantize_activation_q8_0_ggml) {
  quantizeBlocks<writ::kActivationQ8_0>(
      *static_cast<const quantize_activation_q8_0_ggml_args *>(arguments), begin, end);
}
