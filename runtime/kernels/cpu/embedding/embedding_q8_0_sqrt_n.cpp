// Embedding from q8_0 panels, scaled by sqrt(n); see lookup.h.
#include "writ/kernels/embedding_q8_0_sqrt_n.h"
#include "runtime/kernels/cpu/embedding/lookup.h"

WRIT_BODY(embedding_q8_0_sqrt_n) {
  lookUpScaled<BlockPanels<Q80>>(*static_cast<const embedding_q8_0_sqrt_n_args *>(arguments), begin,
                                 end);
}
