// Linear over f16 weights in ggml's order; see lanes32_linear.h.
#include "writ/kernels/linear_f16_f16_ggml.h"
#include "runtime/kernels/cpu/linear/lanes32_linear.h"

WRIT_BODY(linear_f16_f16_ggml) {
  lanes32Linear<F16Dots>(*static_cast<const linear_f16_f16_ggml_args *>(arguments), begin, end);
}
