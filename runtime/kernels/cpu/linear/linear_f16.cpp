// Float linear over f16 weights; see float_linear.h.
#include "writ/kernels/linear_f16.h"
#include "runtime/kernels/cpu/linear/float_linear.h"

WRIT_BODY(linear_f16) {
  floatLinear<ScalarPanels<F16Weights>>(*static_cast<const linear_f16_args *>(arguments), begin,
                                        end);
}
