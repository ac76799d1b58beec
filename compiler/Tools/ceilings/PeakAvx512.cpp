// AVX-512 with VNNI: one instruction for 64 products and their sums.
#include "compiler/Tools/ceilings/Ceilings.h"

#if defined(__x86_64__)
#include <immintrin.h>

namespace writ::tool {
namespace {

constexpr int kSums = 12; // hides five cycles of latency on two ports

/// Where sums start: the compiler may not know that they are equal, or it computes them as one. The
/// loops themselves hide nothing, so that the sums stay in registers.
template <typename Vector> Vector hidden(Vector start) {
  asm volatile("" : "+v"(start));
  return start;
}

int64_t int8(int64_t rounds) {
  const __m512i a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(-2);
  __m512i sums[kSums];
#pragma GCC unroll 12
  for (__m512i &sum : sums)
    sum = hidden(_mm512_setzero_si512());
  for (int64_t round = 0; round < rounds; ++round)
#pragma GCC unroll 12
    for (__m512i &sum : sums)
      sum = _mm512_dpbusd_epi32(sum, a, b);
  __m512i total = _mm512_setzero_si512();
  for (const __m512i &sum : sums)
    total = _mm512_add_epi32(total, sum);
  alignas(64) int32_t lanes[16];
  _mm512_store_si512(lanes, total);
  return lanes[0];
}

float floats(int64_t rounds) {
  const __m512 a = _mm512_set1_ps(0.5f), b = _mm512_set1_ps(0.25f);
  __m512 sums[kSums];
#pragma GCC unroll 12
  for (__m512 &sum : sums)
    sum = hidden(_mm512_setzero_ps());
  for (int64_t round = 0; round < rounds; ++round)
#pragma GCC unroll 12
    for (__m512 &sum : sums)
      sum = _mm512_fmadd_ps(sum, a, b);
  __m512 total = _mm512_setzero_ps();
  for (const __m512 &sum : sums)
    total = _mm512_add_ps(total, sum);
  return _mm512_cvtss_f32(total);
}

} // namespace

const PeakLoops kPeakAvx512{2 * 64 * kSums, 2 * 16 * kSums, int8, floats};

} // namespace writ::tool
#endif
