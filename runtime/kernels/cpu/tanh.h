//===- tanh.h - tanh_f32_v0 and the soft-cap, one scalar at a time --------===//
//
// tanh_f32_v0 of contracts/functions.json, step by step, and the word
// fp32_cap_times_tanh_of_quotient with it. The vector forms are in simd/soft_cap.h.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/math.h"

namespace {

namespace tanh_f32_v0 {
constexpr float kNear = 0x1.4p-1f;
constexpr float kT0 = -0x1.555532p-2f, kT1 = 0x1.110726p-3f, kT2 = -0x1.b83c5cp-5f,
                kT3 = 0x1.5226a2p-6f, kT4 = -0x1.75e1e4p-8f;
} // namespace tanh_f32_v0

inline float tanhF32(float x) {
  using namespace tanh_f32_v0;
  if (x == 0.0f)
    return x;
  const float a = __builtin_fabsf(x), z = x * x;
  float t;
  if (a < kNear) {
    float p = kT4;
    p = __builtin_fmaf(p, z, kT3);
    p = __builtin_fmaf(p, z, kT2);
    p = __builtin_fmaf(p, z, kT1);
    p = __builtin_fmaf(p, z, kT0);
    t = __builtin_fmaf(p, z * a, a);
  } else {
    t = 1.0f - 2.0f / (expF32(a + a) + 1.0f);
  }
  return x < 0.0f ? -t : t;
}

inline float capF32(float x, float cap) {
  return cap * tanhF32(x / cap);
}

} // namespace
