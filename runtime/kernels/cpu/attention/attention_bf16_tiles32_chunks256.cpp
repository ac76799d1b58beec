// Causal attention: a query sees every position up to its own; see paged.h.
#include "writ/kernels/attention_bf16_tiles32_chunks256.h"
#include "runtime/kernels/cpu/attention/paged.h"

WRIT_BODY(attention_bf16_tiles32_chunks256) {
  attendPages<Bf16Rows>(*static_cast<const attention_bf16_tiles32_chunks256_args *>(arguments),
                        kNoWindow, begin, end);
}
