// Float linear over q4_k weights; see float_linear.h.
#include "writ/kernels/linear_q4_k_f32.h"
#include "runtime/kernels/cpu/linear/decode_super.h"
#include "runtime/kernels/cpu/linear/float_linear.h"

WRIT_BODY(linear_q4_k_f32) {
  floatLinear<SuperPanels<Q4K>>(*static_cast<const linear_q4_k_f32_args *>(arguments), begin, end);
}
