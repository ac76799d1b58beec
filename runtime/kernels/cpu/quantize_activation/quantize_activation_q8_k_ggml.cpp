// Activation codes of ggml's q8_k; see quantize_ggml.h.
#include "writ/kernels/quantize_activation_q8_k_ggml.h"
#include "runtime/kernels/cpu/quantize_activation/quantize_ggml.h"

WRIT_BODY(quantize_activation_q8_k_ggml) {
  quantizeSuperBlocks(*static_cast<const quantize_activation_q8_k_ggml_args *>(arguments), begin,
                      end);
}
