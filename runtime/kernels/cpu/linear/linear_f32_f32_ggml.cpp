// Linear over f32 weights in ggml's order; see lanes32_linear.h.
#include "writ/kernels/linear_f32_f32_ggml.h"
#include "runtime/kernels/cpu/linear/lanes32_linear.h"

WRIT_BODY(linear_f32_f32_ggml) {
  lanes32Linear<F32Dots>(*static_cast<const linear_f32_f32_ggml_args *>(arguments), begin, end);
}
