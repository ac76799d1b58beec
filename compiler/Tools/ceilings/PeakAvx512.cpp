// AVX-512 with VNNI: one instruction for 64 products and their sums.
#include "compiler/Tools/ceilings/Ceilings.h"
#include "compiler/Tools/ceilings/PeakSums.h"

#if defined(__x86_64__)
#include <immintrin.h>

namespace writ::tool {
namespace {

int64_t int8(int64_t rounds) {
  const __m512i a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(-2);
  const __m512i total = peakSums(
      rounds, _mm512_setzero_si512(), [&](__m512i sum) { return _mm512_dpbusd_epi32(sum, a, b); },
      [](__m512i x, __m512i y) { return _mm512_add_epi32(x, y); });
  alignas(64) int32_t lanes[16];
  _mm512_store_si512(lanes, total);
  return lanes[0];
}

float floats(int64_t rounds) {
  const __m512 a = _mm512_set1_ps(0.5f), b = _mm512_set1_ps(0.25f);
  return _mm512_cvtss_f32(peakSums(
      rounds, _mm512_setzero_ps(), [&](__m512 sum) { return _mm512_fmadd_ps(sum, a, b); },
      [](__m512 x, __m512 y) { return _mm512_add_ps(x, y); }));
}

int64_t read(const std::byte *data, int64_t bytes) {
  const __m512i total = readSums<64>(
      data, bytes, _mm512_setzero_si512(),
      [](const std::byte *from) { return _mm512_loadu_si512(from); },
      [](__m512i x, __m512i y) { return _mm512_add_epi64(x, y); });
  alignas(64) int64_t lanes[8];
  _mm512_store_si512(lanes, total);
  return lanes[0];
}

} // namespace

constinit const PeakLoops kPeakAvx512{
    {2 * 64 * kPeakSums, int8}, {2 * 16 * kPeakSums, floats}, read};

} // namespace writ::tool
#endif
