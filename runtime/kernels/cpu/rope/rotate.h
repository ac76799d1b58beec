//===- rope/rotate.h - rotary position embedding --------------------------===//
//
//   y0 = fma(x0, c, -rn(x1 * s)),  y1 = fma(x0, s, rn(x1 * c))     rotate
//   y0 = rn(rn(x0 * c) - rn(x1 * s)),  y1 = rn(rn(x0 * s) + rn(x1 * c))     rotateUnfused
//   input, out f32 [rows][heads][head_dim]; table f32 [rows][cos rope_dims / 2 | sin rope_dims / 2]
//
// Elements from rope_dims on are copied. `out` may be `input`.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/body.h"

namespace {

/// `first(i)`, `second(i)`: the elements of pair i; `turn(x0, x1, c, s, y0, y1)` rotates one.
template <typename Args, typename First, typename Second, typename Turn>
inline void rotatePairs(const Args &args, int64_t begin, int64_t end, First first, Second second,
                        Turn turn) {
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
        turn(x0, x1, c, s, y[first(i)], y[second(i)]);
      }
      for (int64_t i = args.rope_dims; i < args.head_dim; ++i)
        y[i] = x[i];
    }
  }
}

template <typename Args, typename First, typename Second>
void rotate(const Args &args, int64_t begin, int64_t end, First first, Second second) {
  rotatePairs(args, begin, end, first, second,
              [](float x0, float x1, float c, float s, float &y0, float &y1) {
                y0 = __builtin_fmaf(x0, c, -(x1 * s));
                y1 = __builtin_fmaf(x0, s, x1 * c);
              });
}

template <typename Args, typename First, typename Second>
void rotateUnfused(const Args &args, int64_t begin, int64_t end, First first, Second second) {
  rotatePairs(args, begin, end, first, second,
              [](float x0, float x1, float c, float s, float &y0, float &y1) {
                y0 = x0 * c - x1 * s; // contraction is off
                y1 = x0 * s + x1 * c;
              });
}

} // namespace
