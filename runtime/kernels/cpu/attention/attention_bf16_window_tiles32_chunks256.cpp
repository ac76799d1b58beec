// Sliding-window attention: a query sees the last `window` positions, its own included; see
// paged.h.
#include "writ/kernels/attention_bf16_window_tiles32_chunks256.h"
#include "runtime/kernels/cpu/attention/paged.h"

WRIT_BODY(attention_bf16_window_tiles32_chunks256) {
  const auto &args = *static_cast<const attention_bf16_window_tiles32_chunks256_args *>(arguments);
  attendPages<Bf16Rows>(args, args.window, begin, end);
}
