// AVX2 and FMA. Without VNNI an 8-bit product sum is three instructions for 32 products.
#include "compiler/Tools/ceilings/Ceilings.h"
#include "compiler/Tools/ceilings/PeakSums.h"

#if defined(__x86_64__)
#include <immintrin.h>

namespace writ::tool {
namespace {

int64_t int8(int64_t rounds) {
  const __m256i a = _mm256_set1_epi8(3), ones = _mm256_set1_epi16(1);
  __m256i b = _mm256_set1_epi8(-2);
  const __m256i total = peakSums(
      rounds, _mm256_setzero_si256(),
      [&](__m256i sum) {
        asm volatile("" : "+x"(b)); // or the product is computed once
        return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), ones));
      },
      [](__m256i x, __m256i y) { return _mm256_add_epi32(x, y); });
  return _mm256_extract_epi32(total, 0);
}

float floats(int64_t rounds) {
  const __m256 a = _mm256_set1_ps(0.5f), b = _mm256_set1_ps(0.25f);
  return _mm256_cvtss_f32(peakSums(
      rounds, _mm256_setzero_ps(), [&](__m256 sum) { return _mm256_fmadd_ps(sum, a, b); },
      [](__m256 x, __m256 y) { return _mm256_add_ps(x, y); }));
}

int64_t read(const std::byte *data, int64_t bytes) {
  return _mm_cvtsi128_si64(_mm256_castsi256_si128(readSums<32>(
      data, bytes, _mm256_setzero_si256(),
      [](const std::byte *from) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from));
      },
      [](__m256i x, __m256i y) { return _mm256_add_epi64(x, y); })));
}

} // namespace

constinit const PeakLoops kPeakAvx2{{2 * 32 * kPeakSums, int8}, {2 * 8 * kPeakSums, floats}, read};

} // namespace writ::tool
#endif
