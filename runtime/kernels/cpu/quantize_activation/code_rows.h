//===- code_rows.h - activation codes of rows ------------------------------===//
//
//   d = rn(amax / 127), q = rint(rn(x * rn(127 / amax))) of each block
//
// amax < 2^-120: d = 0, codes 0. A NaN or an infinity in the block: d = NaN, codes 0. A row of out
// is the codes, the scales, the sums (writ/packed_layout.h), and zero bytes up to a multiple of 64.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/simd/magnitudes.h"
#include "runtime/kernels/cpu/simd/units.h"
#include "writ/packed_layout.h"

namespace {

/// What a block is scaled by, of 16 blocks in their lanes.
struct BlockScales {
  Lanes scale, inverse;
};

/// `most` is the largest magnitude of each block, a NaN above all.
inline BlockScales scalesOf(Lanes most) {
  const Lanes amax = selectGreater(broadcast(kInfinity), most, most, broadcast(kInfinity));
  const Lanes least = broadcast(0x1p-120f), limit = broadcast(127.0f), none = zero();
  BlockScales result{selectGreater(least, amax, none, div(amax, limit)),
                     selectGreater(least, amax, none, div(limit, amax))};
  result.scale = selectGreater(broadcast(kInfinity), amax, result.scale, broadcast(kNaN));
  return result;
}

/// One row at `out`. Sum is the type of the layout's sums; `vector(i)` gives the 16 elements from i
/// on, and is asked for each once. 16 blocks of 32, or one of 256, are held in registers or close
/// by and scaled together, so that maxima, divisions and sums fill vectors.
template <const writ::ActivationCodes &layout, typename Sum, typename Vector>
inline void quantizeRow(char *out, int64_t k, Vector vector) {
  static_assert(sizeof(Sum) == layout.sumBytes);
  constexpr int64_t kInBlock = layout.block / kLanes, kInSum = layout.sumElements / kLanes;
  constexpr int64_t kBlocks = layout.block == 32 ? kLanes : 1; // scaled together
  constexpr int64_t kSums = kBlocks * layout.block / layout.sumElements;
  static_assert(kSums == kLanes);
  auto *codes = at<int8_t>(out, 0);
  auto *scales = at<float>(out, layout.scales(k));
  auto *sums = at<Sum>(out, layout.sums(k));
  const int64_t blocks = k / layout.block;
  for (int64_t first = 0; first < blocks; first += kBlocks) {
    const int64_t here = least(kBlocks, blocks - first), from = first * layout.block;
    alignas(64) float values[kBlocks * layout.block];
    Lanes most[kLanes];
    for (int64_t i = kBlocks == 1 ? 0 : here; i < kLanes; ++i)
      most[i] = zero();
    for (int64_t b = 0; b < here; ++b)
      for (int64_t j = 0; j < kInBlock; ++j) {
        const int64_t i = (b * kInBlock + j) * kLanes;
        const Lanes v = vector(from + i), magnitude = absolute(v);
        store(v, values + i);
        Lanes &of = most[kBlocks == 1 ? j % 4 : b];
        of = kBlocks > 1 && j == 0 ? magnitude : larger(of, magnitude);
      }
    if constexpr (kBlocks == 1)
      most[0] = larger(larger(most[0], most[1]), larger(most[2], most[3]));
    const BlockScales block = scalesOf(kBlocks == 1 ? broadcast(largest(most[0])) : largests(most));
    alignas(64) float inverse[kLanes], scale[kLanes], sum[kLanes];
    store(block.inverse, inverse);
    store(block.scale, scale);
    Lanes total[kLanes];
    for (int64_t i = 0; i < kLanes; ++i)
      total[i] = zero();
    for (int64_t b = 0; b < here; ++b) {
      if (scale[b] != scale[b]) // codes 0; 0 times what is not finite is no number
        __builtin_memset(values + b * layout.block, 0, sizeof(float) * layout.block);
      const Lanes by = broadcast(inverse[b]);
      for (int64_t j = 0; j < kInBlock; ++j) {
        const int64_t i = b * kInBlock + j;
        const Lanes shifted = add(mul(load(values + i * kLanes), by), broadcast(kUnits));
        storeShifted(shifted, codes + from + i * kLanes);
        const Lanes q = sub(shifted, broadcast(kUnits));
        total[i / kInSum] = add(total[i / kInSum], q); // exact: integers far below 2^24
      }
      scales[first + b] = scale[b];
    }
    store(treeSums(total), sum);
    for (int64_t i = 0; i < here * kSums / kBlocks; ++i)
      sums[first * (kSums / kBlocks) + i] = static_cast<Sum>(static_cast<int32_t>(sum[i]));
  }
  for (int64_t i = layout.end(k); i < layout.rowBytes(k); ++i)
    out[i] = 0;
}

/// Rows [begin, end).
template <const writ::ActivationCodes &layout, typename Sum, typename Args>
void quantizeRows(const Args &args, int64_t begin, int64_t end) {
  constexpr int64_t kAhead = 512; // floats, half a page
  const int64_t k = args.k;
  for (int64_t row = begin; row < end; ++row) {
    const float *x = static_cast<const float *>(args.input) + row * k;
    quantizeRow<layout, Sum>(at<char>(args.out, row * layout.rowBytes(k)), k, [&](int64_t i) {
      __builtin_prefetch(x + i + kAhead); // while 16 blocks are worked on, nothing is read
      return load(x + i);
    });
  }
}

} // namespace
