// A query sees the last `window` positions, its own included; see two_pass.h.
#include "writ/kernels/attention_f16_window_two_pass_ggml.h"
#include "runtime/kernels/cpu/attention/two_pass.h"

WRIT_BODY(attention_f16_window_two_pass_ggml) {
  const auto &args = *static_cast<const attention_f16_window_two_pass_ggml_args *>(arguments);
  attendTwoPass<Scaled::scores>(args, args.window, begin, end);
}
