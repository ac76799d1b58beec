//===- linear/super_linear.h - 8-bit activation codes, blocks of 256 ------===//
//
//   I = sum over the sub-blocks j of sc_j * (sum of w * q), M = sum over j of mn_j * (sum of q),
//   exact; each converted once (rn)
//   q4_k, q5_k: t = fma(d, I, -rn(dmin * M))      q6_k (w centred): t = rn(d * I)
//
// See tile.h for how the terms are added. activation i8_b256_sf32, weight in panel16_k4_b256
// panels. The dots of a tile are those of the instruction set (simd/super_*.h).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/linear/decode_super.h"
#include "runtime/kernels/cpu/linear/tile.h"

#if WRIT_ISA_LEVEL >= 3
#include "runtime/kernels/cpu/simd/super_neon.h"
#elif WRIT_ISA_LEVEL == 2
#include "runtime/kernels/cpu/simd/super_avx512.h"
#elif WRIT_ISA_LEVEL == 1
#include "runtime/kernels/cpu/simd/super_avx2.h"
#else
#include "runtime/kernels/cpu/simd/super_scalar.h"
#endif

namespace {

template <typename Format, typename Args>
void superLinear(const Args &args, int64_t begin, int64_t end) {
  tiledLinear<SuperForm<Format>>(args, begin, end);
}

} // namespace
