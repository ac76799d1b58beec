// Linear over bf16 weights in ggml's order; see lanes32_linear.h.
#include "writ/kernels/linear_bf16_bf16_ggml.h"
#include "runtime/kernels/cpu/linear/lanes32_linear.h"

WRIT_BODY(linear_bf16_bf16_ggml) {
  lanes32Linear<Bf16Dots>(*static_cast<const linear_bf16_bf16_ggml_args *>(arguments), begin, end);
}
