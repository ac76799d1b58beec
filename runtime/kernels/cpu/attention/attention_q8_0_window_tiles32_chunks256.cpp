// Sliding-window attention: a query sees the last `window` positions, its own included; see
// paged.h.
#include "writ/kernels/attention_q8_0_window_tiles32_chunks256.h"
#include "runtime/kernels/cpu/attention/paged.h"

WRIT_BODY(attention_q8_0_window_tiles32_chunks256) {
  const auto &args = *static_cast<const attention_q8_0_window_tiles32_chunks256_args *>(arguments);
  attendPages<Q80Rows>(args, args.window, begin, end);
}
