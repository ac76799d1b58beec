// Embedding from f16 panels; see lookup.h.
#include "writ/kernels/embedding_f16.h"
#include "runtime/kernels/cpu/embedding/lookup.h"

WRIT_BODY(embedding_f16) {
  lookUp<ScalarPanels<F16Weights>>(*static_cast<const embedding_f16_args *>(arguments), begin, end);
}
