// Embedding from bf16 panels; see lookup.h.
#include "writ/kernels/embedding_bf16.h"
#include "runtime/kernels/cpu/embedding/lookup.h"

WRIT_BODY(embedding_bf16) {
  lookUp<ScalarPanels<Bf16Weights>>(*static_cast<const embedding_bf16_args *>(arguments), begin,
                                    end);
}
