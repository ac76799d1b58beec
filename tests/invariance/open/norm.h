// RMSNorm but for its sum of squares, which each double has its own way to take.
#pragma once

#include "writ/kernels/rms_norm_f32.h"

namespace {

inline const float *vectorOf(const rms_norm_f32_args &args, int64_t vector) {
  return static_cast<const float *>(args.input) + vector * args.n;
}

inline void writeNorm(const rms_norm_f32_args &args, int64_t vector, float sumOfSquares) {
  const float *x = vectorOf(args, vector);
  const auto *weight = static_cast<const float *>(args.weight);
  float *out = static_cast<float *>(args.out) + vector * args.n;
  const float mean = sumOfSquares / static_cast<float>(args.n);
  const float shifted = mean + args.epsilon;
  const float r = 1.0f / __builtin_sqrtf(shifted);
  for (int64_t i = 0; i < args.n; ++i) {
    const float scaled = x[i] * r;
    out[i] = scaled * weight[i];
  }
}

} // namespace
