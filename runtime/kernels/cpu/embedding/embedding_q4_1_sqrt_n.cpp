// Embedding from q4_1 panels, scaled by sqrt(n); see lookup.h.
#include "writ/kernels/embedding_q4_1_sqrt_n.h"
#include "runtime/kernels/cpu/embedding/lookup.h"

WRIT_BODY(embedding_q4_1_sqrt_n) {
  lookUpScaled<BlockPanels<Q41>>(*static_cast<const embedding_q4_1_sqrt_n_args *>(arguments), begin,
                                 end);
}
