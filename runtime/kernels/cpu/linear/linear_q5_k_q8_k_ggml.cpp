// Linear over q5_k weights and q8_k activation codes in ggml's order; see lane_linear.h.
#include "writ/kernels/linear_q5_k_q8_k_ggml.h"
#include "runtime/kernels/cpu/linear/lane_linear.h"

WRIT_BODY(linear_q5_k_q8_k_ggml) {
  laneLinear<LaneSuperBlocks<Q5K, 1>>(*static_cast<const linear_q5_k_q8_k_ggml_args *>(arguments),
                                      begin, end);
}
