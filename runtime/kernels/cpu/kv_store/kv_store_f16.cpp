// Writes each row's K and V, rounded to binary16 (overflow to infinity), at the row's position of
// its sequence. k, v f32 [rows][kv_heads][head_dim]; the pages lie as writ_kv_view says.
#include "writ/kernels/kv_store_f16.h"
#include "runtime/kernels/cpu/kv.h"
#include "runtime/kernels/cpu/simd/lanes.h"

namespace {

void storeHalves(const float *from, uint16_t *to, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    storeHalf(load(from + i), to + i);
  for (; i < count; ++i)
    to[i] = halfFromFloat(from[i]);
}

} // namespace

WRIT_BODY(kv_store_f16) {
  const auto &args = *static_cast<const kv_store_f16_args *>(arguments);
  const auto &view = *static_cast<const writ_kv_view *>(args.kv);
  const auto *position = static_cast<const int32_t *>(args.position);
  const auto *sequence = static_cast<const int32_t *>(args.sequence);
  const int64_t width = args.kv_heads * args.head_dim;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t offset = tokenOffset(view, args.layer, sequence[row], position[row]);
    storeHalves(static_cast<const float *>(args.k) + row * width,
                at<uint16_t>(view.k_plane, offset), width);
    storeHalves(static_cast<const float *>(args.v) + row * width,
                at<uint16_t>(view.v_plane, offset), width);
  }
}
