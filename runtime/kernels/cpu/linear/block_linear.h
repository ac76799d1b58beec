//===- linear/block_linear.h - 8-bit activation codes, blocks of 32 -------===//
//
//   I = sum of w * q, A = sum of q over the 32 elements of a block, exact; each converted once (rn)
//   q4_0, q5_0, q8_0 (w centred): t = rn(d_w * I)      q4_1, q5_1: t = fma(d_w, I, rn(m_w * A))
//
// See tile.h for how the terms are added. activation i8_b32_sf32, weight in panel16_k4 panels. The
// dots of a tile are those of the instruction set (simd/dot_*.h).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/linear/decode.h"
#include "runtime/kernels/cpu/linear/tile.h"

#if WRIT_ISA_LEVEL >= 3
#include "runtime/kernels/cpu/simd/dot_neon.h"
#elif WRIT_ISA_LEVEL == 2
#include "runtime/kernels/cpu/simd/dot_avx512.h"
#elif WRIT_ISA_LEVEL == 1
#include "runtime/kernels/cpu/simd/dot_avx2.h"
#else
#include "runtime/kernels/cpu/simd/dot_scalar.h"
#endif

namespace {

template <typename Format, typename Args>
void blockLinear(const Args &args, int64_t begin, int64_t end) {
  tiledLinear<BlockForm<Format>>(args, begin, end);
}

} // namespace
