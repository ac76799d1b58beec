// Linear over q8_0 weights and q8_0 activation codes in ggml's order; see lane_linear.h.
#include "writ/kernels/linear_q8_0_q8_0_ggml.h"
#include "runtime/kernels/cpu/linear/lane_linear.h"

WRIT_BODY(linear_q8_0_q8_0_ggml) {
  laneLinear<LaneBlocks<Q80>>(*static_cast<const linear_q8_0_q8_0_ggml_args *>(arguments), begin,
                              end);
}
