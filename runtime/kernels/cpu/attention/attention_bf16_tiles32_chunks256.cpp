// Causal attention: a query sees every position up to its own; see paged.h.
#include "writ/kernels/attention_bf16_tiles32_chunks256.h"
#include "runtime/kernels/cpu/attention/paged.h"

static_assert(attention_bf16_tiles32_chunks256_kv_len_thresholds[0] == kChunkKeys + 1 &&
              sizeof(attention_bf16_tiles32_chunks256_kv_len_thresholds) == sizeof(int64_t));

WRIT_BODY(attention_bf16_tiles32_chunks256) {
  attendPages<Bf16Rows>(*static_cast<const attention_bf16_tiles32_chunks256_args *>(arguments),
                        kNoWindow, begin, end);
}

WRIT_MERGE(attention_bf16_tiles32_chunks256) {
  mergeParts(*static_cast<const attention_bf16_tiles32_chunks256_args *>(arguments), kNoWindow,
             begin, end);
}
