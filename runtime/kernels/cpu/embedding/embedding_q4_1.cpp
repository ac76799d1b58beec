// Embedding from q4_1 panels; see lookup.h.
#include "writ/kernels/embedding_q4_1.h"
#include "runtime/kernels/cpu/embedding/lookup.h"

WRIT_BODY(embedding_q4_1) {
  lookUp<BlockPanels<Q41>>(*static_cast<const embedding_q4_1_args *>(arguments), begin, end);
}
