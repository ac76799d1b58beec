// See store.h.
#include "writ/kernels/kv_store_bf16.h"
#include "runtime/kernels/cpu/kv_store/store.h"

WRIT_BODY(kv_store_bf16) {
  storeRows<Bf16Rows>(*static_cast<const kv_store_bf16_args *>(arguments), begin, end);
}
