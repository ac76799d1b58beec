// Embedding from q4_k panels; see lookup.h.
#include "writ/kernels/embedding_q4_k.h"
#include "runtime/kernels/cpu/embedding/lookup.h"
#include "runtime/kernels/cpu/linear/decode_super.h"

WRIT_BODY(embedding_q4_k) {
  lookUp<SuperPanels<Q4K>>(*static_cast<const embedding_q4_k_args *>(arguments), begin, end);
}
