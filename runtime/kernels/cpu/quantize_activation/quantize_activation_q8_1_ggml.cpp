// Activation codes of ggml's q8_1; see quantize_ggml.h.
#include "writ/kernels/quantize_activation_q8_1_ggml.h"
#include "runtime/kernels/cpu/quantize_activation/quantize_ggml.h"

WRIT_BODY(quantize_activation_q8_1_ggml) {
  quantizeBlocks<writ::kActivationQ8_1>(
      *static_cast<const quantize_activation_q8_1_ggml_args *>(arguments), begin, end);
}
