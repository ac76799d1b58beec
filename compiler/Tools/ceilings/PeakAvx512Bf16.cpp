// AVX-512 with products of bfloat16: one instruction for 32 products and their sums.
#include "compiler/Tools/ceilings/Ceilings.h"

#if defined(__x86_64__)
#include <immintrin.h>

namespace writ::tool {
namespace {

constexpr int kSums = 12; // hides six cycles of latency on two ports

/// Where a sum starts: not known to be equal to the others, or they were computed as one.
__m512 hidden(__m512 start) {
  asm volatile("" : "+v"(start));
  return start;
}

float bfloats(int64_t rounds) {
  const __m512bh a = (__m512bh)_mm512_set1_epi16(0x3f00), b = (__m512bh)_mm512_set1_epi16(0x3e80);
  __m512 sums[kSums];
#pragma GCC unroll 12
  for (__m512 &sum : sums)
    sum = hidden(_mm512_setzero_ps());
  for (int64_t round = 0; round < rounds; ++round)
#pragma GCC unroll 12
    for (__m512 &sum : sums)
      sum = _mm512_dpbf16_ps(sum, a, b);
  __m512 total = _mm512_setzero_ps();
  for (const __m512 &sum : sums)
    total = _mm512_add_ps(total, sum);
  return _mm512_cvtss_f32(total);
}

} // namespace

const PeakLoops kPeakAvx512Bf16{kPeakAvx512.int8OperationsPerRound,
                                kPeakAvx512.floatOperationsPerRound,
                                kPeakAvx512.int8,
                                kPeakAvx512.floats,
                                2 * 32 * kSums,
                                bfloats};

} // namespace writ::tool
#endif
