//===- kv_rows.h - one head's vector in each storage of the KV planes -----===//
//
//   bytes(headDim)             row_bytes(storage, head_dim)
//   values(row, d)             the elements d .. d + 15 of a row in binary32, exact
//   narrow(from, headDim, to)  a row, rounded as the storage's kv_store contract says
//
// A f16, bf16 or f32 element is rounded by itself; q8_0 holds blocks of 32 codes whose scale, made
// as that of activation codes (quantize_activation/quantize.h), is rounded to binary16 last.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/quantize_activation/quantize.h"
#include "runtime/kernels/cpu/simd/lanes.h"

namespace {

struct F16Rows {
  static constexpr int64_t bytes(int64_t headDim) { return headDim * 2; }
  static Lanes values(const void *row, int64_t d) {
    return loadHalf(static_cast<const uint16_t *>(row) + d);
  }
  static void narrow(const float *from, int64_t headDim, void *to) {
    auto *halves = static_cast<uint16_t *>(to);
    int64_t i = 0;
    for (; i + kLanes <= headDim; i += kLanes)
      storeHalf(load(from + i), halves + i);
    for (; i < headDim; ++i)
      halves[i] = halfFromFloat(from[i]);
  }
};

struct Bf16Rows {
  static constexpr int64_t bytes(int64_t headDim) { return headDim * 2; }
  static Lanes values(const void *row, int64_t d) {
    return loadBfloat(static_cast<const uint16_t *>(row) + d);
  }
  static void narrow(const float *from, int64_t headDim, void *to) {
    auto *values = static_cast<uint16_t *>(to);
    for (int64_t i = 0; i < headDim; ++i)
      values[i] = bfloatFromFloat(from[i]);
  }
};

struct F32Rows {
  static constexpr int64_t bytes(int64_t headDim) { return headDim * 4; }
  static Lanes values(const void *row, int64_t d) {
    return load(static_cast<const float *>(row) + d);
  }
  static void narrow(const float *from, int64_t headDim, void *to) {
    __builtin_memcpy(to, from, static_cast<size_t>(bytes(headDim)));
  }
};

struct Q80Rows {
  static constexpr int64_t kElements = 32, kBlockBytes = 2 + kElements;
  static constexpr int64_t bytes(int64_t headDim) { return headDim / kElements * kBlockBytes; }
  static Lanes values(const void *row, int64_t d) {
    const int64_t block = d / kElements * kBlockBytes;
    uint16_t half;
    __builtin_memcpy(&half, at<char>(row, block), sizeof half);
    return mul(broadcast(floatFromHalf(half)),
               loadCodes(at<int8_t>(row, block + 2 + d % kElements)));
  }
  static void narrow(const float *from, int64_t headDim, void *to) {
    for (int64_t block = 0; block < headDim / kElements; ++block) {
      const float scale = quantizeBlock<kElements>(from + block * kElements,
                                                   at<int8_t>(to, block * kBlockBytes + 2));
      const uint16_t half = halfFromFloat(scale);
      __builtin_memcpy(at<char>(to, block * kBlockBytes), &half, sizeof half);
    }
  }
};

} // namespace
