// See store.h.
#include "writ/kernels/kv_store_f32.h"
#include "runtime/kernels/cpu/kv_store/store.h"

WRIT_BODY(kv_store_f32) {
  storeRows<F32Rows>(*static_cast<const kv_store_f32_args *>(arguments), begin, end);
}
