// Float linear over q5_0 weights; see float_linear.h.
#include "writ/kernels/linear_q5_0_f32.h"
#include "runtime/kernels/cpu/linear/float_linear.h"

WRIT_BODY(linear_q5_0_f32) {
  floatLinear<BlockPanels<Q50>>(*static_cast<const linear_q5_0_f32_args *>(arguments), begin, end);
}
