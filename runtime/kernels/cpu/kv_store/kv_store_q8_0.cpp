// See store.h.
#include "writ/kernels/kv_store_q8_0.h"
#include "runtime/kernels/cpu/kv_store/store.h"

WRIT_BODY(kv_store_q8_0) {
  storeRows<Q80Rows>(*static_cast<const kv_store_q8_0_args *>(arguments), begin, end);
}
