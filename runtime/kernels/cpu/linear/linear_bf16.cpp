// Float linear over bf16 weights; see float_linear.h.
#include "writ/kernels/linear_bf16.h"
#include "runtime/kernels/cpu/linear/float_linear.h"

WRIT_BODY(linear_bf16) {
  floatLinear<ScalarPanels<Bf16Weights>>(*static_cast<const linear_bf16_args *>(arguments), begin,
                                         end);
}
