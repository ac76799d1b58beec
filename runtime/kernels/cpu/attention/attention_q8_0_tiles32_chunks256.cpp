// Causal attention: a query sees every position up to its own; see paged.h.
#include "writ/kernels/attention_q8_0_tiles32_chunks256.h"
#include "runtime/kernels/cpu/attention/paged.h"

WRIT_BODY(attention_q8_0_tiles32_chunks256) {
  attendPages<Q80Rows>(*static_cast<const attention_q8_0_tiles32_chunks256_args *>(arguments),
                       kNoWindow, begin, end);
}
