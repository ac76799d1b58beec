// Linear over q5_0 weights and 8-bit activation codes; see block_linear.h.
#include "writ/kernels/linear_q5_0_i8_b32.h"
#include "runtime/kernels/cpu/linear/block_linear.h"

WRIT_BODY(linear_q5_0_i8_b32) {
  blockLinear<Q50>(*static_cast<const linear_q5_0_i8_b32_args *>(arguments), begin, end);
}
