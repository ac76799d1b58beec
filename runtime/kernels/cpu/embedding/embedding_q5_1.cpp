// Embedding from q5_1 panels; see lookup.h.
#include "writ/kernels/embedding_q5_1.h"
#include "runtime/kernels/cpu/embedding/lookup.h"

WRIT_BODY(embedding_q5_1) {
  lookUp<BlockPanels<Q51>>(*static_cast<const embedding_q5_1_args *>(arguments), begin, end);
}
