// Embedding from q5_k panels; see lookup.h.
#include "writ/kernels/embedding_q5_k.h"
#include "runtime/kernels/cpu/embedding/lookup.h"
#include "runtime/kernels/cpu/linear/decode_super.h"

WRIT_BODY(embedding_q5_k) {
  lookUp<SuperPanels<Q5K>>(*static_cast<const embedding_q5_k_args *>(arguments), begin, end);
}
