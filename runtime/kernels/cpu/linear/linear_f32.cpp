// Float linear over f32 weights; see float_linear.h.
#include "writ/kernels/linear_f32.h"
#include "runtime/kernels/cpu/linear/float_linear.h"

WRIT_BODY(linear_f32) {
  floatLinear<ScalarPanels<F32Weights>>(*static_cast<const linear_f32_args *>(arguments), begin,
                                        end);
}
