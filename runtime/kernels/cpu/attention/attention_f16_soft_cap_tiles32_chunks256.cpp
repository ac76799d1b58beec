// Causal attention whose scores are soft-capped; see paged.h.
#include "writ/kernels/attention_f16_soft_cap_tiles32_chunks256.h"
#include "runtime/kernels/cpu/attention/paged.h"

static_assert(attention_f16_soft_cap_tiles32_chunks256_kv_len_thresholds[0] == kChunkKeys + 1 &&
              sizeof(attention_f16_soft_cap_tiles32_chunks256_kv_len_thresholds) ==
                  sizeof(int64_t));

WRIT_BODY(attention_f16_soft_cap_tiles32_chunks256) {
  attendPages<F16Rows>(
      *static_cast<const attention_f16_soft_cap_tiles32_chunks256_args *>(arguments), kNoWindow,
      begin, end);
}

WRIT_MERGE(attention_f16_soft_cap_tiles32_chunks256) {
  mergeParts(*static_cast<const attention_f16_soft_cap_tiles32_chunks256_args *>(arguments),
             kNoWindow, begin, end);
}
