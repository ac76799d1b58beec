// RoPE on the pairs (2i, 2i + 1); see rotate.h.
#include "writ/kernels/rope_interleaved_f32.h"
#include "runtime/kernels/cpu/rope/rotate.h"

WRIT_BODY(rope_interleaved_f32) {
  rotate(
      *static_cast<const rope_interleaved_f32_args *>(arguments), begin, end,
      [](int64_t i) { return 2 * i; }, [](int64_t i) { return 2 * i + 1; });
}
