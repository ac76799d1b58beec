//===- linear/decode.h - packed weights, decoded to binary32 --------------===//
//
// One struct for each storage type, over the panels of writ/packed_layout.h:
//
//   kUnit                       elements of one unit of the contract's segments
//   stride(k)                   bytes from one panel to the next
//   decodeRow(panel, r, k, out) row r of a panel: out[0 .. k)
//   decodeColumns(panel, b, k, out)
//                               elements 32b .. min(32b + 32, k) of all 16 rows: out[i] holds
//                               element 32b + i, a lane for each row
//
// Quantized values decode as the contracts say: q4_0, q5_0, q8_0 rn(d * code), q4_1, q5_1
// fma(d, code, m), q4_k, q5_k fma(rn(d * sc), code, -rn(dmin * mn)), q6_k rn(rn(d * sc) * code).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/simd/lanes.h"
#include "writ/packed_layout.h"

namespace {

using writ::kBlockElements;
using writ::kPanelRows;

struct F32Weights {
  using Element = float;
  static Lanes widen(const float *from) { return load(from); }
  static float widenOne(float value) { return value; }
};
struct F16Weights {
  using Element = uint16_t;
  static Lanes widen(const uint16_t *from) { return loadHalf(from); }
  static float widenOne(uint16_t value) { return floatFromHalf(value); }
};
struct Bf16Weights {
  using Element = uint16_t;
  static Lanes widen(const uint16_t *from) { return loadBfloat(from); }
  static float widenOne(uint16_t value) { return floatFromBfloat(value); }
};

/// panel16: a panel is [k][16] elements.
template <typename Weights> struct ScalarPanels {
  using Element = typename Weights::Element;
  static constexpr int64_t kUnit = kBlockElements;
  static int64_t stride(int64_t k) {
    return writ::panelStride(static_cast<int64_t>(sizeof(Element)), k);
  }
  static void decodeRow(const void *panel, int64_t r, int64_t k, float *out) {
    const auto *elements = static_cast<const Element *>(panel);
    for (int64_t i = 0; i < k; ++i)
      out[i] = Weights::widenOne(elements[i * kPanelRows + r]);
  }
  static void decodeColumns(const void *panel, int64_t block, int64_t k, float *out) {
    const auto *elements =
        static_cast<const Element *>(panel) + block * kBlockElements * kPanelRows;
    const int64_t count = least(kBlockElements, k - block * kBlockElements);
    for (int64_t i = 0; i < count; ++i)
      store(Weights::widen(elements + i * kPanelRows), out + i * kPanelRows);
  }
};

/// A quantized storage: the bits of a stored code, what is taken off it, whether there are
/// minimums.
struct Q40 {
  static constexpr writ::BlockPanelBytes kBytes = writ::kPanelBytesQ4_0;
  static constexpr writ::CodeBits kCodes = writ::kCodes4;
  static constexpr int kBias = 8;
  static constexpr bool kMinimum = false;
};
struct Q41 {
  static constexpr writ::BlockPanelBytes kBytes = writ::kPanelBytesQ4_1;
  static constexpr writ::CodeBits kCodes = writ::kCodes4;
  static constexpr int kBias = 0;
  static constexpr bool kMinimum = true;
};
struct Q50 {
  static constexpr writ::BlockPanelBytes kBytes = writ::kPanelBytesQ5_0;
  static constexpr writ::CodeBits kCodes = writ::kCodes5;
  static constexpr int kBias = 16;
  static constexpr bool kMinimum = false;
};
struct Q51 {
  static constexpr writ::BlockPanelBytes kBytes = writ::kPanelBytesQ5_1;
  static constexpr writ::CodeBits kCodes = writ::kCodes5;
  static constexpr int kBias = 0;
  static constexpr bool kMinimum = true;
};
struct Q80 {
  static constexpr writ::BlockPanelBytes kBytes = writ::kPanelBytesQ8_0;
  static constexpr writ::CodeBits kCodes = writ::kCodes8;
  static constexpr int kBias = 128;
  static constexpr bool kMinimum = false;
};

/// The code of row r whose element has rank `rank` in its group, as it is stored.
template <typename Format>
inline int storedCode(const uint8_t *vectors, const writ::CodePlace &place, int64_t rank,
                      int64_t r) {
  constexpr writ::CodeBits codes = Format::kCodes;
  const auto bits = [&](int64_t vector, int64_t shift, int count) {
    return vectors[vector * writ::kVectorBytes + 4 * r + rank] >> shift & ((1 << count) - 1);
  };
  int code = bits(place.low, place.lowShift, codes.lowBits);
  if constexpr (codes.highBits != 0)
    code |= bits(place.high, place.highShift, codes.highBits) << codes.lowBits;
  return code;
}

/// The same of all rows in binary32, the bias taken off.
template <typename Format>
inline Lanes codeLanes(const uint8_t *vectors, const writ::CodePlace &place, int64_t rank) {
  constexpr writ::CodeBits codes = Format::kCodes;
  const auto bits = [&](int64_t vector, int64_t shift, int count) {
    return loadField(vectors + vector * writ::kVectorBytes, static_cast<int>(8 * rank + shift),
                     (1u << count) - 1);
  };
  Lanes code = bits(place.low, place.lowShift, codes.lowBits);
  if constexpr (codes.highBits != 0)
    code = fma(bits(place.high, place.highShift, codes.highBits),
               broadcast(static_cast<float>(1 << codes.lowBits)), code);
  return Format::kBias ? sub(code, broadcast(static_cast<float>(Format::kBias))) : code;
}

/// panel16_k4: records of codes, scales and, where there are any, minimums.
template <typename Format> struct BlockPanels {
  static constexpr int64_t kUnit = kBlockElements;
  static constexpr int64_t kBlockBytes = Format::kBytes.block();
  static int64_t stride(int64_t k) { return writ::panelStride(Format::kBytes, k); }
  static writ::BlockParts parts(int64_t block, int64_t k) {
    return writ::blockParts(Format::kBytes, k / kBlockElements, block);
  }
  static const uint8_t *codes(const void *panel, int64_t block, int64_t k) {
    return at<uint8_t>(panel, parts(block, k).codes);
  }
  static const uint16_t *scales(const void *panel, int64_t block, int64_t k) {
    return at<uint16_t>(panel, parts(block, k).scales);
  }
  static const uint16_t *minimums(const void *panel, int64_t block, int64_t k) {
    return at<uint16_t>(panel, parts(block, k).minimums);
  }

  static void decodeRow(const void *panel, int64_t r, int64_t k, float *out) {
    for (int64_t block = 0; block < k / kBlockElements; ++block) {
      const uint8_t *from = codes(panel, block, k);
      const float d = floatFromHalf(scales(panel, block, k)[r]);
      float m = 0.0f;
      if constexpr (Format::kMinimum)
        m = floatFromHalf(minimums(panel, block, k)[r]);
      for (int64_t i = 0; i < kBlockElements; ++i) {
        const int code =
            storedCode<Format>(from, writ::blockPlace(Format::kCodes, i / 4), i % 4, r);
        const float q = static_cast<float>(code - Format::kBias);
        out[block * kBlockElements + i] = Format::kMinimum ? __builtin_fmaf(d, q, m) : d * q;
      }
    }
  }

  static void decodeColumns(const void *panel, int64_t block, int64_t k, float *out) {
    const uint8_t *from = codes(panel, block, k);
    const Lanes d = loadHalf(scales(panel, block, k));
    Lanes m = zero();
    if constexpr (Format::kMinimum)
      m = loadHalf(minimums(panel, block, k));
    for (int64_t group = 0; group < kBlockElements / 4; ++group)
      for (int64_t rank = 0; rank < 4; ++rank) {
        const Lanes q = codeLanes<Format>(from, writ::blockPlace(Format::kCodes, group), rank);
        store(Format::kMinimum ? fma(d, q, m) : mul(d, q), out + (4 * group + rank) * kPanelRows);
      }
  }
};

} // namespace
