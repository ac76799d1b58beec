// Linear over q4_k weights and q8_k activation codes in ggml's order; see lane_linear.h.
#include "writ/kernels/linear_q4_k_q8_k_ggml.h"
#include "runtime/kernels/cpu/linear/lane_linear.h"

WRIT_BODY(linear_q4_k_q8_k_ggml) {
  laneLinear<LaneSuperBlocks<Q4K, 4>>(*static_cast<const linear_q4_k_q8_k_ggml_args *>(arguments),
                                      begin, end);
}
