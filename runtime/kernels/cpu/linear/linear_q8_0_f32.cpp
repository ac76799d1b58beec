// Float linear over q8_0 weights; see float_linear.h.
#include "writ/kernels/linear_q8_0_f32.h"
#include "runtime/kernels/cpu/linear/float_linear.h"

WRIT_BODY(linear_q8_0_f32) {
  floatLinear<BlockPanels<Q80>>(*static_cast<const linear_q8_0_f32_args *>(arguments), begin, end);
}
