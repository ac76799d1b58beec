// Embedding from q4_0 panels; see lookup.h.
#include "writ/kernels/embedding_q4_0.h"
#include "runtime/kernels/cpu/embedding/lookup.h"

WRIT_BODY(embedding_q4_0) {
  lookUp<BlockPanels<Q40>>(*static_cast<const embedding_q4_0_args *>(arguments), begin, end);
}
