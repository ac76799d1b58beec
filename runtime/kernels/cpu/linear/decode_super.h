//===- linear/decode_super.h - panels of blocks of 256, decoded -----------===//
//
// q4_k, q5_k and q6_k in the records of panel16_k4_b256; see decode.h for what a panel's struct
// gives and for the formulas.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/linear/decode.h"

namespace {

using writ::kSuperElements;

struct Q4K {
  static constexpr writ::SuperPanelBytes kBytes = writ::kPanelBytesQ4_K;
  static constexpr writ::CodeBits kCodes = writ::kCodes4;
  static constexpr int kBias = 0;
};
struct Q5K {
  static constexpr writ::SuperPanelBytes kBytes = writ::kPanelBytesQ5_K;
  static constexpr writ::CodeBits kCodes = writ::kCodes5;
  static constexpr int kBias = 0;
};
struct Q6K {
  static constexpr writ::SuperPanelBytes kBytes = writ::kPanelBytesQ6_K;
  static constexpr writ::CodeBits kCodes = writ::kCodes6;
  static constexpr int kBias = 32;
};

/// The numbers that a format's kernels follow from.
template <typename Format> struct SuperNumbers {
  static constexpr int64_t kSubBlocks = Format::kBytes.subBlocks;
  static constexpr int64_t kSubElements = kSuperElements / kSubBlocks;
  static constexpr int64_t kSubGroups = kSubElements / 4;
  static constexpr bool kMinimum = Format::kBytes.minimums;
  static constexpr bool kSignedScales = !kMinimum; ///< signed bytes; else 6 bits
  static constexpr int64_t kLargestStored = (1 << Format::kCodes.bits()) - 1;
  static constexpr int64_t kLargestCode = Format::kBias > kLargestStored - Format::kBias
                                              ? Format::kBias
                                              : kLargestStored - Format::kBias;
  /// The largest |sc * dot| of a sub-block.
  static constexpr int64_t kLargestTerm =
      kLargestCode * 127 * kSubElements * (kSignedScales ? 128 : 63);
};

/// Group g of a block of 256.
template <typename Format> constexpr writ::CodePlace superPlace(int64_t g) {
  return writ::superPlace(Format::kCodes, Format::kBytes.subBlocks, g);
}

template <typename Format> struct SuperPanels {
  using Numbers = SuperNumbers<Format>;
  static constexpr writ::SuperPanelBytes kBytes = Format::kBytes;
  static constexpr int64_t kUnit = kSuperElements;
  static int64_t stride(int64_t k) { return writ::panelStride(kBytes, k); }
  static const uint8_t *record(const void *panel, int64_t block) {
    return at<uint8_t>(panel, block * kBytes.record());
  }
  static const uint16_t *scales(const uint8_t *record) {
    return at<uint16_t>(record, kBytes.scales());
  }
  static const uint16_t *minimums(const uint8_t *record) {
    return at<uint16_t>(record, kBytes.scaleMinimums());
  }
  /// The pair of sub-blocks that holds sub-block j: [16][2] bytes.
  static const uint8_t *subScales(const uint8_t *record, int64_t j) {
    return record + kBytes.subScales() + j / 2 * 2 * kPanelRows;
  }
  static const uint8_t *subMinimums(const uint8_t *record, int64_t j) {
    return record + kBytes.subMinimums() + j / 2 * 2 * kPanelRows;
  }
  static int subScale(const uint8_t *record, int64_t j, int64_t r) {
    const uint8_t byte = subScales(record, j)[2 * r + j % 2];
    return Numbers::kSignedScales ? static_cast<int8_t>(byte) : byte;
  }
  static int subMinimum(const uint8_t *record, int64_t j, int64_t r) {
    return subMinimums(record, j)[2 * r + j % 2];
  }

  static void decodeRow(const void *panel, int64_t r, int64_t k, float *out) {
    for (int64_t block = 0; block < k / kSuperElements; ++block) {
      const uint8_t *from = record(panel, block);
      const float d = floatFromHalf(scales(from)[r]);
      for (int64_t i = 0; i < kSuperElements; ++i) {
        const int64_t j = i / Numbers::kSubElements;
        const int code = storedCode<Format>(from, superPlace<Format>(i / 4), i % 4, r);
        const float q = static_cast<float>(code - Format::kBias);
        const float scale = d * static_cast<float>(subScale(from, j, r));
        float value = scale * q;
        if constexpr (Numbers::kMinimum) {
          const float dmin = floatFromHalf(minimums(from)[r]);
          value = __builtin_fmaf(scale, q, -(dmin * static_cast<float>(subMinimum(from, j, r))));
        }
        out[block * kSuperElements + i] = value;
      }
    }
  }

  static void decodeColumns(const void *panel, int64_t run, int64_t, float *out) {
    constexpr int64_t runs = kSuperElements / kBlockElements, groups = kBlockElements / 4;
    const uint8_t *from = record(panel, run / runs);
    const Lanes d = loadHalf(scales(from));
    Lanes scale = d, minimum = zero();
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t group = run % runs * groups + g, j = group / Numbers::kSubGroups;
      if (group % Numbers::kSubGroups == 0) {
        alignas(64) float integers[kPanelRows];
        for (int64_t r = 0; r < kPanelRows; ++r)
          integers[r] = static_cast<float>(subScale(from, j, r));
        scale = mul(d, load(integers));
        if constexpr (Numbers::kMinimum) {
          for (int64_t r = 0; r < kPanelRows; ++r)
            integers[r] = static_cast<float>(subMinimum(from, j, r));
          minimum = sub(broadcast(-0.0f), mul(loadHalf(minimums(from)), load(integers)));
        }
      }
      for (int64_t rank = 0; rank < 4; ++rank) {
        const Lanes q = codeLanes<Format>(from, superPlace<Format>(group), rank);
        store(Numbers::kMinimum ? fma(scale, q, minimum) : mul(scale, q),
              out + (4 * g + rank) * kPanelRows);
      }
    }
  }
};

} // namespace
