//===- math.h - the named elementary functions, one scalar at a time ------===//
//
// exp_f32_v0, log_f32_v0, sincos_f64_v0, silu_f32_v0 and gelu_tanh_f32_v0 of
// contracts/functions.json, step by step. No libm: every fma is written as one and nothing else may
// be fused. The vector forms in simd/ take the same steps and give the same bits.
//
// Internal linkage throughout: a body compiled for one instruction set must never be merged with
// that of another.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <stdint.h>

namespace {

inline float floatFromBits(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}

inline uint32_t bitsOfFloat(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  return bits;
}

constexpr float kInfinity = __builtin_inff();
constexpr float kNaN = __builtin_nanf("");

/// Nearest integer, ties to even, for |x| < 2^22 (|x| < 2^51 in binary64). The magic addend puts
/// the units into the last place of the significand.
inline float roundToInteger(float x) {
  const float magic = 0x1.8p+23f;
  return (x + magic) - magic;
}
inline double roundToInteger(double x) {
  const double magic = 0x1.8p+52;
  return (x + magic) - magic;
}

inline float powerOfTwo(int32_t exponent) { // normal results only: -126 .. 127
  return floatFromBits(static_cast<uint32_t>(exponent + 127) << 23);
}

namespace exp_f32_v0 {
constexpr float kOverflow = 0x1.62e42ep+6f, kUnderflow = -0x1.9fe368p+6f;
constexpr float kLog2e = 0x1.715476p+0f, kLn2Hi = 0x1.62e430p-1f, kLn2Lo = -0x1.05c610p-29f;
constexpr float kC0 = 0x1.fffffcp-2f, kC1 = 0x1.555492p-3f, kC2 = 0x1.5558f2p-5f,
                kC3 = 0x1.1239e2p-7f, kC4 = 0x1.6a2464p-10f;
} // namespace exp_f32_v0

inline float expF32(float x) {
  using namespace exp_f32_v0;
  if (x != x)
    return kNaN;
  if (x > kOverflow)
    return kInfinity;
  if (x < kUnderflow)
    return 0.0f;
  const float n = roundToInteger(x * kLog2e);
  float r = __builtin_fmaf(n, -kLn2Hi, x);
  r = __builtin_fmaf(n, -kLn2Lo, r);
  float p = kC4;
  p = __builtin_fmaf(p, r, kC3);
  p = __builtin_fmaf(p, r, kC2);
  p = __builtin_fmaf(p, r, kC1);
  p = __builtin_fmaf(p, r, kC0);
  p = __builtin_fmaf(p, r, 1.0f);
  p = __builtin_fmaf(p, r, 1.0f);
  const int32_t exponent = static_cast<int32_t>(n);
  const int32_t half = exponent >> 1; // the first product is exact, the second rounds once
  return (p * powerOfTwo(half)) * powerOfTwo(exponent - half);
}

inline float logF32(float x) {
  constexpr float kLn2Hi = 0x1.62e430p-1f, kLn2Lo = -0x1.05c610p-29f;
  constexpr float kL[9] = {0x1.555548p-2f,  -0x1.000006p-2f, 0x1.99a4b6p-3f,
                           -0x1.555c4ep-3f, 0x1.23376ap-3f,  -0x1.fc220ap-4f,
                           0x1.e6f052p-4f,  -0x1.de3bdep-4f, 0x1.145780p-4f};
  constexpr uint32_t kHalfSqrt2 = 0x3f3504f3u, kMantissa = 0x007fffffu;
  if (!(x >= 0.0f))
    return kNaN;
  if (x == 0.0f)
    return -kInfinity;
  if (x == kInfinity)
    return kInfinity;
  int32_t e = 0;
  if (x < 0x1p-126f) {
    x *= 0x1p+23f;
    e = -23;
  }
  const int32_t i = static_cast<int32_t>(bitsOfFloat(x) - kHalfSqrt2);
  e += i >> 23;
  const float f = floatFromBits((static_cast<uint32_t>(i) & kMantissa) + kHalfSqrt2) - 1.0f;
  float p = kL[8];
  for (int j = 7; j >= 0; --j)
    p = __builtin_fmaf(p, f, kL[j]);
  const float t = f * f;
  const float ef = static_cast<float>(e);
  float q = t * (f * p);
  q = __builtin_fmaf(ef, kLn2Lo, q);
  q = __builtin_fmaf(-0.5f, t, q);
  q = q + f;
  return __builtin_fmaf(ef, kLn2Hi, q);
}

inline void sincosF64(double a, double *sine, double *cosine) {
  constexpr double kLimit = 0x1p+30, kTwoOverPi = 0x1.45f306dc9c883p-1;
  constexpr double kP1 = 0x1.921fb54442d18p+0, kP2 = 0x1.1a62633145c07p-54,
                   kP3 = -0x1.f1976b7ed8fbcp-110;
  constexpr double kS[6] = {-0x1.5555555555549p-3, 0x1.111111110f8a6p-7,   -0x1.a01a019c16179p-13,
                            0x1.71de357b18263p-19, -0x1.ae5e689c9be31p-26, 0x1.5d93a5595eb03p-33};
  constexpr double kC[6] = {0x1.555555555554cp-5,   -0x1.6c16c16c1521fp-10, 0x1.a01a019cbf61bp-16,
                            -0x1.27e4f812b4d66p-22, 0x1.1ee9f150ce413p-29,  -0x1.8fb12fd283b13p-37};
  if (!(a >= -kLimit && a <= kLimit)) {
    *sine = *cosine = __builtin_nan("");
    return;
  }
  const double n = roundToInteger(a * kTwoOverPi);
  double r = __builtin_fma(n, -kP1, a);
  r = __builtin_fma(n, -kP2, r);
  r = __builtin_fma(n, -kP3, r);
  const double z = r * r;
  double s = kS[5], c = kC[5];
  for (int j = 4; j >= 0; --j) {
    s = __builtin_fma(s, z, kS[j]);
    c = __builtin_fma(c, z, kC[j]);
  }
  s = __builtin_fma(r * z, s, r);
  c = __builtin_fma(z * z, c, __builtin_fma(-0.5, z, 1.0));
  switch (static_cast<int64_t>(n) & 3) {
  case 0:
    *sine = s, *cosine = c;
    return;
  case 1:
    *sine = c, *cosine = -s;
    return;
  case 2:
    *sine = -s, *cosine = -c;
    return;
  default:
    *sine = -c, *cosine = s;
    return;
  }
}

inline float siluF32(float x) {
  return x / (1.0f + expF32(-x));
}

namespace gelu_tanh_f32_v0 {
constexpr float kC1 = 0x1.988454p+0f, kC3 = 0x1.2444f2p-4f;
} // namespace gelu_tanh_f32_v0

inline float geluTanhF32(float x) {
  using namespace gelu_tanh_f32_v0;
  const float u = x * __builtin_fmaf(x * x, kC3, kC1);
  return x / (1.0f + expF32(-u));
}

} // namespace
