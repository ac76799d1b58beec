//===- function_ulp.cpp - measures the named functions over all inputs ----===//
//
// Prints the largest error in ulp of exp, log, SiLU and GELU over every binary32 input, against
// binary64 libm (whose own error, below 2^-29 of a binary32 ulp, is far under what is printed), and
// of sincos in binary64 over sampled angles against long double. Takes minutes;
// contracts/functions.json records what it printed.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cpu/math.h"

#include <cmath>
#include <cstdio>
#include <random>

namespace {

/// |got - exact| in units of the last place of the binary32 that is nearest to `exact`.
double ulpError(float got, double exact) {
  const float nearest = static_cast<float>(exact);
  if (std::isnan(exact))
    return std::isnan(got) ? 0 : INFINITY;
  if (got == nearest)
    return std::isinf(got) ? 0 : 0; // correctly rounded
  if (std::isinf(got) || std::isinf(nearest) || std::isnan(got))
    return INFINITY;
  int exponent;
  std::frexp(exact, &exponent);
  const double ulp = std::ldexp(1.0, std::max(exponent - 24, -149));
  return std::fabs(static_cast<double>(got) - exact) / ulp;
}

/// Over the inputs that are not below `least`.
template <typename F, typename E>
void measure(const char *name, F function, E exact, float least = -INFINITY) {
  double worst = 0;
  float at = 0;
  for (uint64_t i = 0; i < (1ull << 32); ++i) {
    const float x = floatFromBits(static_cast<uint32_t>(i));
    if (x < least)
      continue;
    const double error = ulpError(function(x), exact(static_cast<double>(x)));
    if (error > worst) {
      worst = error;
      at = x;
    }
  }
  std::printf("%s max_ulp %.6f at %a\n", name, worst, static_cast<double>(at));
  std::fflush(stdout);
}

} // namespace

int main() {
  std::mt19937_64 random(1);
  long double worst[2] = {0, 0};
  for (int i = 0; i < 200000000; ++i) {
    // angles as RoPE makes them: pos * base^(-x), and uniform ones up to the limit
    double a = (random() >> 11) * 0x1p-53;
    a = i & 1 ? a * std::ldexp(1.0, static_cast<int>(random() % 31)) : a * 32768;
    double s, c;
    sincosF64(a, &s, &c);
    const long double exact[2] = {sinl(a), cosl(a)};
    const double got[2] = {s, c};
    for (int j = 0; j < 2; ++j) {
      int exponent;
      frexpl(exact[j], &exponent);
      const long double e = fabsl(got[j] - exact[j]) / ldexpl(1, exponent - 53);
      if (e > worst[j])
        worst[j] = e;
    }
  }
  std::printf("sincos_f64_v0 max_ulp %.4Lf %.4Lf\n", worst[0], worst[1]);
  std::fflush(stdout);
  measure("exp_f32_v0", expF32, [](double x) { return std::exp(x); });
  measure("log_f32_v0", logF32, [](double x) { return std::log(x); });
  // Below `least` the exponential overflows and the result is -0.
  measure(
      "silu_f32_v0", siluF32, [](double x) { return x / (1 + std::exp(-x)); }, -0x1.62e42ep+6f);
  constexpr double kC1 = 0x1.9884533d43651p+0, kC3 = 0x1.2444f2a4d8b4bp-4; // c1, c3 unrounded
  float least = -8;
  while (std::isfinite(
      expF32(-least * __builtin_fmaf(least * least, gelu_tanh_f32_v0::kC3, gelu_tanh_f32_v0::kC1))))
    least = std::nextafter(least, -INFINITY);
  least = std::nextafter(least, 0.0f);
  std::printf("gelu_tanh_f32_v0 from %a\n", static_cast<double>(least));
  measure(
      "gelu_tanh_f32_v0", geluTanhF32,
      [](double x) { return x / (1 + std::exp(-x * (kC1 + kC3 * x * x))); }, least);
}
