// Embedding from f32 panels, scaled by sqrt(n); see lookup.h.
#include "writ/kernels/embedding_f32_sqrt_n.h"
#include "runtime/kernels/cpu/embedding/lookup.h"

WRIT_BODY(embedding_f32_sqrt_n) {
  lookUpScaled<ScalarPanels<F32Weights>>(*static_cast<const embedding_f32_sqrt_n_args *>(arguments),
                                         begin, end);
}
