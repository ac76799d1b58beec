// Embedding from q5_0 panels; see lookup.h.
#include "writ/kernels/embedding_q5_0.h"
#include "runtime/kernels/cpu/embedding/lookup.h"

WRIT_BODY(embedding_q5_0) {
  lookUp<BlockPanels<Q50>>(*static_cast<const embedding_q5_0_args *>(arguments), begin, end);
}
