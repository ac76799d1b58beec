// Linear over bf16 weights, pairs added as vdpbf16ps adds them; see pair_linear.h.
#include "writ/kernels/linear_bf16_vdpbf16ps.h"
#include "runtime/kernels/cpu/linear/pair_linear.h"

WRIT_BODY(linear_bf16_vdpbf16ps) {
  pairLinear(*static_cast<const linear_bf16_vdpbf16ps_args *>(arguments), begin, end);
}
