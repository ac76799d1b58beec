// Embedding from q5_1 panels, scaled by sqrt(n); see lookup.h.
#include "writ/kernels/embedding_q5_1_sqrt_n.h"
#include "runtime/kernels/cpu/embedding/lookup.h"

WRIT_BODY(embedding_q5_1_sqrt_n) {
  lookUpScaled<BlockPanels<Q51>>(*static_cast<const embedding_q5_1_sqrt_n_args *>(arguments), begin,
                                 end);
}
