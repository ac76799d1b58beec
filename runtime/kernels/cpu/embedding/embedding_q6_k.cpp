// Embedding from q6_k panels; see lookup.h.
#include "writ/kernels/embedding_q6_k.h"
#include "runtime/kernels/cpu/embedding/lookup.h"
#include "runtime/kernels/cpu/linear/decode_super.h"

WRIT_BODY(embedding_q6_k) {
  lookUp<SuperPanels<Q6K>>(*static_cast<const embedding_q6_k_args *>(arguments), begin, end);
}
