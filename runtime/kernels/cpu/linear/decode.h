//===- linear/decode.h - packed weights, decoded to binary32 --------------===//
//
// One struct for each storage type, over the panels of writ/packed_layout.h:
//
//   stride(k)                   bytes from one panel to the next
//   decodeRow(panel, r, k, out) row r of a panel: out[0 .. k)
//   decodeColumns(panel, b, k, out)
//                               elements 32b .. min(32b + 32, k) of all 16 rows: out[i] holds
//                               element 32b + i, a lane for each row
//
// Quantized values decode as the contracts say: q4_0, q8_0 rn(d * code), q4_1 fma(d, code, m).
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

struct Q40 {
  static constexpr writ::BlockPanelBytes kBytes = writ::kPanelBytesQ4_0;
  static constexpr bool kNibbles = true, kMinimum = false;
  static constexpr int kBias = 8;
};
struct Q41 {
  static constexpr writ::BlockPanelBytes kBytes = writ::kPanelBytesQ4_1;
  static constexpr bool kNibbles = true, kMinimum = true;
  static constexpr int kBias = 0;
};
struct Q80 {
  static constexpr writ::BlockPanelBytes kBytes = writ::kPanelBytesQ8_0;
  static constexpr bool kNibbles = false, kMinimum = false;
  static constexpr int kBias = 128;
};

/// panel16_k4: codes [B][..][16][4], scales [B][16], then minimums [B][16] where there are any.
template <typename Format> struct BlockPanels {
  static int64_t stride(int64_t k) { return writ::panelStride(Format::kBytes, k); }
  static const uint8_t *codes(const void *panel, int64_t block) {
    return at<uint8_t>(panel, block * Format::kBytes.codes);
  }
  static const uint16_t *scales(const void *panel, int64_t block, int64_t k) {
    return at<uint16_t>(panel, k / kBlockElements * Format::kBytes.codes) + block * kPanelRows;
  }
  static const uint16_t *minimums(const void *panel, int64_t block, int64_t k) {
    const int64_t blocks = k / kBlockElements;
    return scales(panel, block, k) + blocks * kPanelRows;
  }

  /// Code of element i (of 32) of row r, the bias taken off.
  static int code(const uint8_t *codes, int64_t i, int64_t r) {
    if constexpr (Format::kNibbles) {
      const int64_t in = i & 15;
      const int byte = codes[in / 4 * 64 + r * 4 + in % 4];
      return (i < 16 ? byte & 15 : byte >> 4) - Format::kBias;
    } else {
      return codes[i / 4 * 64 + r * 4 + i % 4] - Format::kBias;
    }
  }

  static void decodeRow(const void *panel, int64_t r, int64_t k, float *out) {
    for (int64_t block = 0; block < k / kBlockElements; ++block) {
      const uint8_t *from = codes(panel, block);
      const float d = floatFromHalf(scales(panel, block, k)[r]);
      float m = 0.0f;
      if constexpr (Format::kMinimum)
        m = floatFromHalf(minimums(panel, block, k)[r]);
      for (int64_t i = 0; i < kBlockElements; ++i) {
        const float q = static_cast<float>(code(from, i, r));
        out[block * kBlockElements + i] = Format::kMinimum ? __builtin_fmaf(d, q, m) : d * q;
      }
    }
  }

  static void decodeColumns(const void *panel, int64_t block, int64_t k, float *out) {
    const uint8_t *from = codes(panel, block);
    const Lanes d = loadHalf(scales(panel, block, k));
    Lanes m = zero();
    if constexpr (Format::kMinimum)
      m = loadHalf(minimums(panel, block, k));
    const Lanes bias = broadcast(static_cast<float>(Format::kBias));
    const auto decoded = [&](const uint8_t *group, int shift, uint32_t mask) {
      const Lanes q = sub(loadField(group, shift, mask), bias);
      return Format::kMinimum ? fma(d, q, m) : mul(d, q);
    };
    // a group of 64 bytes is a 32-bit word for each row: byte j holds elements 4g + j (and 16 more)
    for (int g = 0; g < (Format::kNibbles ? 4 : 8); ++g)
      for (int j = 0; j < 4; ++j) {
        float *to = out + (4 * g + j) * kPanelRows;
        if constexpr (Format::kNibbles) {
          store(decoded(from + g * 64, 8 * j, 15), to);
          store(decoded(from + g * 64, 8 * j + 4, 15), to + 16 * kPanelRows);
        } else {
          store(decoded(from + g * 64, 8 * j, 255), to);
        }
      }
  }
};

} // namespace
