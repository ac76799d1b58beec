// RoPE on the pairs (i, i + rope_dims / 2); in unfused steps as ggml takes them; see rotate.h.
#include "writ/kernels/rope_split_half_f32_ggml.h"
#include "runtime/kernels/cpu/rope/rotate.h"

WRIT_BODY(rope_split_half_f32_ggml) {
  const auto &args = *static_cast<const rope_split_half_f32_ggml_args *>(arguments);
  const int64_t pairs = args.rope_dims / 2;
  rotateUnfused(
      args, begin, end, [](int64_t i) { return i; }, [pairs](int64_t i) { return pairs + i; });
}
