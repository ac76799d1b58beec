// Float linear over q4_1 weights; see float_linear.h.
#include "writ/kernels/linear_q4_1_f32.h"
#include "runtime/kernels/cpu/linear/float_linear.h"

WRIT_BODY(linear_q4_1_f32) {
  floatLinear<BlockPanels<Q41>>(*static_cast<const linear_q4_1_f32_args *>(arguments), begin, end);
}
