// Embedding from q5_0 panels, scaled by sqrt(n); see lookup.h.
#include "writ/kernels/embedding_q5_0_sqrt_n.h"
#include "runtime/kernels/cpu/embedding/lookup.h"

WRIT_BODY(embedding_q5_0_sqrt_n) {
  lookUpScaled<BlockPanels<Q50>>(*static_cast<const embedding_q5_0_sqrt_n_args *>(arguments), begin,
                                 end);
}
