// Linear over q4_k weights and 8-bit activation codes; see super_linear.h.
#include "writ/kernels/linear_q4_k_i8_b256.h"
#include "runtime/kernels/cpu/linear/super_linear.h"

WRIT_BODY(linear_q4_k_i8_b256) {
  superLinear<Q4K>(*static_cast<const linear_q4_k_i8_b256_args *>(arguments), begin, end);
}
