//===- rope/rotate.h - rotary position embedding --------------------------===//
//
//   y0 = fma(x0, c, -rn(x1 * s)),  y1 = fma(x0, s, rn(x1 * c))
//   input, out f32 [rows][heads][head_dim]; table f32 [rows][cos rope_dims / 2 | sin rope_dims / 2]
//
// Elements from rope_dims on are copied. `out` may be `input`.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/body.h"

namespace {

/// `first(i)`, `second(i)`: the elements of pair i.
template <typename Args, typename First, typename Second>
void rotate(const Args &args, int64_t begin, int64_t end, First first, Second second) {
  const int64_t width = args.heads * args.head_dim, pairs = args.rope_dims / 2;
  for (int64_t row = begin; row < end; ++row) {
    const float *cosine = static_cast<const float *>(args.table) + row * args.rope_dims;
    const float *sine = cosine + pairs;
    for (int64_t head = 0; head < args.heads; ++head) {
      const int64_t at = row * width + head * args.head_dim;
      const float *x = static_cast<const float *>(args.input) + at;
      float *y = static_cast<float *>(args.out) + at;
      for (int64_t i = 0; i < pairs; ++i) {
        const float x0 = x[first(i)], x1 = x[second(i)], c = cosine[i], s = sine[i];
        y[first(i)] = __builtin_fmaf(x0, c, -(x1 * s));
        y[second(i)] = __builtin_fmaf(x0, s, x1 * c);
      }
      for (int64_t i = args.rope_dims; i < args.head_dim; ++i)
        y[i] = x[i];
    }
  }
}

} // namespace
