// Embedding from q8_0 panels; see lookup.h.
#include "writ/kernels/embedding_q8_0.h"
#include "runtime/kernels/cpu/embedding/lookup.h"

WRIT_BODY(embedding_q8_0) {
  lookUp<BlockPanels<Q80>>(*static_cast<const embedding_q8_0_args *>(arguments), begin, end);
}
