// Embedding from q4_0 panels, scaled by sqrt(n); see lookup.h.
#include "writ/kernels/embedding_q4_0_sqrt_n.h"
#include "runtime/kernels/cpu/embedding/lookup.h"

WRIT_BODY(embedding_q4_0_sqrt_n) {
  lookUpScaled<BlockPanels<Q40>>(*static_cast<const embedding_q4_0_sqrt_n_args *>(arguments), begin,
                                 end);
}
