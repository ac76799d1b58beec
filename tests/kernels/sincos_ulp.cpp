//===- sincos_ulp.cpp - measures sincos_f64_v0 over sampled angles --------===//
//
// Prints the largest error in ulp of sine and cosine in binary64 against long double; minutes.
// contracts/functions.json records what it printed. The binary32 functions are measured over all
// their arguments by function_sweep (tests/functions).
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cpu/math.h"

#include <cmath>
#include <cstdio>
#include <random>

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
}
