// RoPE on the pairs (i, i + rope_dims / 2); see rotate.h.
#include "writ/kernels/rope_split_half_f32.h"
#include "runtime/kernels/cpu/rope/rotate.h"

WRIT_BODY(rope_split_half_f32) {
  const auto &args = *static_cast<const rope_split_half_f32_args *>(arguments);
  const int64_t pairs = args.rope_dims / 2;
  rotate(
      args, begin, end, [](int64_t i) { return i; }, [pairs](int64_t i) { return pairs + i; });
}
