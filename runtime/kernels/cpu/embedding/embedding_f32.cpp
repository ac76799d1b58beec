// Embedding from f32 panels; see lookup.h.
#include "writ/kernels/embedding_f32.h"
#include "runtime/kernels/cpu/embedding/lookup.h"

WRIT_BODY(embedding_f32) {
  lookUp<ScalarPanels<F32Weights>>(*static_cast<const embedding_f32_args *>(arguments), begin, end);
}
