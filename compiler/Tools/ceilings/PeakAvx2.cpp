// AVX2 and FMA. Without VNNI an 8-bit product sum is three instructions for 32 products.
#include "compiler/Tools/ceilings/Ceilings.h"

#if defined(__x86_64__)
#include <immintrin.h>

namespace writ::tool {
namespace {

constexpr int kSums = 12; // hides four or five cycles of latency on two ports

/// Where sums start: the compiler may not know that they are equal, or it computes them as one. The
/// loops themselves hide nothing, so that the sums stay in registers.
template <typename Vector> Vector hidden(Vector start) {
  asm volatile("" : "+x"(start));
  return start;
}

int64_t int8(int64_t rounds) {
  const __m256i a = _mm256_set1_epi8(3), ones = _mm256_set1_epi16(1);
  __m256i b = _mm256_set1_epi8(-2), sums[kSums] = {};
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (__m256i &sum : sums) {
      asm volatile("" : "+x"(b)); // or the product is computed once
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), ones));
    }
  }
  __m256i total = _mm256_setzero_si256();
  for (const __m256i &sum : sums)
    total = _mm256_add_epi32(total, sum);
  return _mm256_extract_epi32(total, 0);
}

float floats(int64_t rounds) {
  const __m256 a = _mm256_set1_ps(0.5f), b = _mm256_set1_ps(0.25f);
  __m256 sums[kSums];
#pragma GCC unroll 12
  for (__m256 &sum : sums)
    sum = hidden(_mm256_setzero_ps());
  for (int64_t round = 0; round < rounds; ++round)
#pragma GCC unroll 12
    for (__m256 &sum : sums)
      sum = _mm256_fmadd_ps(sum, a, b);
  __m256 total = _mm256_setzero_ps();
  for (const __m256 &sum : sums)
    total = _mm256_add_ps(total, sum);
  return _mm256_cvtss_f32(total);
}

} // namespace

const PeakLoops kPeakAvx2{2 * 32 * kSums, 2 * 8 * kSums, int8, floats};

} // namespace writ::tool
#endif
