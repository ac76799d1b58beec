//===- functions_ggml.h - ggml's elementary functions ---------------------===//
//
// exp_f32_ggml_v0, silu_f32_ggml_v0 and gelu_f16_ggml_v0 of contracts/functions.json, step by step.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/convert.h"
#include "runtime/kernels/cpu/math.h"
#include "runtime/kernels/cpu/tanh.h"

namespace {

inline float expF32Ggml(float x) {
  constexpr float kMagic = 0x1.8p+23f, kLog2e = 0x1.715476p+0f;
  constexpr float kLn2Hi = 0x1.62e400p-1f, kLn2Lo = 0x1.7f7d1cp-20f;
  constexpr float kC1 = 0x1.ffffecp-1f, kC2 = 0x1.fffdb6p-2f, kC3 = 0x1.555e66p-3f,
                  kC4 = 0x1.573e2ep-5f, kC5 = 0x1.0e4020p-7f;
  if (x != x)
    return kNaN;
  if (x > 110.0f)
    return kInfinity;
  if (x < -110.0f)
    return 0.0f;
  const float n = __builtin_fmaf(x, kLog2e, kMagic) - kMagic;
  const float b = __builtin_fmaf(n, -kLn2Lo, __builtin_fmaf(n, -kLn2Hi, x));
  const float u = b * b;
  const float high = __builtin_fmaf(kC5, b, kC4), low = __builtin_fmaf(kC3, b, kC2);
  const float j = __builtin_fmaf(__builtin_fmaf(high, u, low), u, kC1 * b);
  const auto exponent = static_cast<int32_t>(n);
  if (exponent >= -126 && exponent <= 126) {
    const float s = powerOfTwo(exponent);
    return __builtin_fmaf(s, j, s);
  }
  const float s = powerOfTwo(exponent > 0 ? exponent - 127 : exponent + 125);
  return __builtin_fmaf(s, j, s) * (exponent > 0 ? 0x1p+127f : 0x1p-125f);
}

inline float siluF32Ggml(float x) {
  return x / (1.0f + expF32Ggml(0.0f - x));
}

inline float geluF16Ggml(float x) {
  constexpr float kCoefficient = 0x1.6e4e26p-5f, kSqrt2OverPi = 0x1.988454p-1f;
  if (x != x)
    return kNaN;
  if (x <= -10.0f)
    return 0.0f;
  if (x >= 10.0f)
    return x;
  const float h = floatFromHalf(halfFromFloat(x));
  const float q = 1.0f + kCoefficient * h * h;
  const float a = kSqrt2OverPi * h * q;
  const float t = tanhF32(a);
  return floatFromHalf(halfFromFloat((0.5f * h) * (1.0f + t)));
}

} // namespace
