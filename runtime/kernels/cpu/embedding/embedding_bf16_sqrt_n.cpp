// Embedding from bf16 panels, scaled by sqrt(n); see lookup.h.
#include "writ/kernels/embedding_bf16_sqrt_n.h"
#include "runtime/kernels/cpu/embedding/lookup.h"

WRIT_BODY(embedding_bf16_sqrt_n) {
  lookUpScaled<ScalarPanels<Bf16Weights>>(
      *static_cast<const embedding_bf16_sqrt_n_args *>(arguments), begin, end);
}
