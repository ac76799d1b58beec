// Embedding from q5_k panels, scaled by sqrt(n); see lookup.h.
#include "writ/kernels/embedding_q5_k_sqrt_n.h"
#include "runtime/kernels/cpu/embedding/lookup.h"
#include "runtime/kernels/cpu/linear/decode_super.h"

WRIT_BODY(embedding_q5_k_sqrt_n) {
  lookUpScaled<SuperPanels<Q5K>>(*static_cast<const embedding_q5_k_sqrt_n_args *>(arguments), begin,
                                 end);
}
