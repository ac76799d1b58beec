// Float linear over q5_1 weights; see float_linear.h.
#include "writ/kernels/linear_q5_1_f32.h"
#include "runtime/kernels/cpu/linear/float_linear.h"

WRIT_BODY(linear_q5_1_f32) {
  floatLinear<BlockPanels<Q51>>(*static_cast<const linear_q5_1_f32_args *>(arguments), begin, end);
}
