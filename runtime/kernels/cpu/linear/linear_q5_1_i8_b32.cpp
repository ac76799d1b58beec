// Linear over q5_1 weights and 8-bit activation codes; see block_linear.h.
#include "writ/kernels/linear_q5_1_i8_b32.h"
#include "runtime/kernels/cpu/linear/block_linear.h"

WRIT_BODY(linear_q5_1_i8_b32) {
  blockLinear<Q51>(*static_cast<const linear_q5_1_i8_b32_args *>(arguments), begin, end);
}
