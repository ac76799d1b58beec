// See store.h.
#include "writ/kernels/kv_store_f16.h"
#include "runtime/kernels/cpu/kv_store/store.h"

WRIT_BODY(kv_store_f16) {
  storeRows<F16Rows>(*static_cast<const kv_store_f16_args *>(arguments), begin, end);
}
