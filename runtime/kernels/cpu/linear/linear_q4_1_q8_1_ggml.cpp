// Linear over q4_1 weights and q8_1 activation codes in ggml's order; see lane_linear.h.
#include "writ/kernels/linear_q4_1_q8_1_ggml.h"
#include "runtime/kernels/cpu/linear/lane_linear.h"

WRIT_BODY(linear_q4_1_q8_1_ggml) {
  laneLinear<LaneBlocks<Q41>>(*static_cast<const linear_q4_1_q8_1_ggml_args *>(arguments), begin,
                              end);
}
