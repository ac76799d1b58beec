//===- kv_rows.h - one head's vector in each storage of the KV planes -----===//
//
//   bytes(headDim)             row_bytes(storage, head_dim)
//   widen(from, headDim, out)  the values of a row in binary32, exact
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
  static void widen(const void *from, int64_t headDim, float *out) {
    const auto *halves = static_cast<const uint16_t *>(from);
    for (int64_t d = 0; d < headDim; d += kLanes)
      store(loadHalf(halves + d), out + d);
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
  static void widen(const void *from, int64_t headDim, float *out) {
    const auto *values = static_cast<const uint16_t *>(from);
    for (int64_t d = 0; d < headDim; d += kLanes)
      store(loadBfloat(values + d), out + d);
  }
  static void narrow(const float *from, int64_t headDim, void *to) {
    auto *values = static_cast<uint16_t *>(to);
    for (int64_t i = 0; i < headDim; ++i)
      values[i] = bfloatFromFloat(from[i]);
  }
};

struct F32Rows {
  static constexpr int64_t bytes(int64_t headDim) { return headDim * 4; }
  static void widen(const void *from, int64_t headDim, float *out) {
    __builtin_memcpy(out, from, static_cast<size_t>(bytes(headDim)));
  }
  static void narrow(const float *from, int64_t headDim, void *to) {
    __builtin_memcpy(to, from, static_cast<size_t>(bytes(headDim)));
  }
};

struct Q80Rows {
  static constexpr int64_t kElements = 32, kBlockBytes = 2 + kElements;
  static constexpr int64_t bytes(int64_t headDim) { return headDim / kElements * kBlockBytes; }
  static void widen(const void *from, int64_t headDim, float *out) {
    for (int64_t block = 0; block < headDim / kElements; ++block) {
      uint16_t half;
      __builtin_memcpy(&half, at<char>(from, block * kBlockBytes), sizeof half);
      const float scale = floatFromHalf(half);
      const auto *codes = at<int8_t>(from, block * kBlockBytes + 2);
      for (int64_t i = 0; i < kElements; ++i)
        out[block * kElements + i] = scale * static_cast<float>(codes[i]);
    }
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
