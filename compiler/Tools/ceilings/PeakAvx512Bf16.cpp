// AVX-512 with products of bfloat16: one instruction for 32 products and their sums.
#include "compiler/Tools/ceilings/Ceilings.h"
#include "compiler/Tools/ceilings/PeakSums.h"

#if defined(__x86_64__)
#include <immintrin.h>

namespace writ::tool {
namespace {

float bfloats(int64_t rounds) {
  const __m512bh a = (__m512bh)_mm512_set1_epi16(0x3f00), b = (__m512bh)_mm512_set1_epi16(0x3e80);
  return _mm512_cvtss_f32(peakSums(
      rounds, _mm512_setzero_ps(), [&](__m512 sum) { return _mm512_dpbf16_ps(sum, a, b); },
      [](__m512 x, __m512 y) { return _mm512_add_ps(x, y); }));
}

} // namespace

const PeakLoops kPeakAvx512Bf16{kPeakAvx512.int8OperationsPerRound,
                                kPeakAvx512.floatOperationsPerRound,
                                kPeakAvx512.int8,
                                kPeakAvx512.floats,
                                kPeakAvx512.read,
                                2 * 32 * kPeakSums,
                                bfloats};

} // namespace writ::tool
#endif
