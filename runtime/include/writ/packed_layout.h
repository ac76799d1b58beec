//===- packed_layout.h - how weights lie in a package ---------------------===//
//
// Packed once when compiling; every instruction set of an architecture reads the same bytes.
// A weight is [n, k]: n output rows of k elements.
//
//   plain            the file's bytes, row after row.
//   panel16          f32, f16, bf16: panels of 16 output rows; a panel is [k][16] elements.
//   panel16_k4       q4_0, q4_1, q5_0, q5_1, q8_0: panels of 16 output rows, K-major in groups of
//                    4, in records of B = 2 blocks; the last one of an odd number has B = 1. A
//                    record is codes [B][vectors][16][4], then the scales d [B][16] (binary16),
//                    then for q4_1 and q5_1 the minimums m [B][16] (binary16).
//   panel16_k4_b256  q4_k, q5_k, q6_k: panels of 16 output rows of B = k / 256 records. A record is
//                    codes [vectors][16][4], sub-scales sc [pairs][16][2] (bytes; byte j of pair p
//                    is that of sub-block 2p + j), for q4_k and q5_k sub-minimums mn likewise, the
//                    scales d [16] (binary16), for q4_k and q5_k the minimums dmin [16] (binary16).
//                    Records are rounded up to 64 bytes.
//
// A code vector is 64 bytes: byte 4r + j belongs to row r and to the elements of rank j in their
// groups of 4. CodePlace says which vectors and which of their bits hold the codes of a group.
// Codes are unsigned: those of q4_0 are stored as w + 8, of q5_0 as w + 16, of q6_k as w + 32, of
// q8_0 as w + 128.
//
// A panel's stride is rounded up to 64 bytes. Rows beyond n are zero bytes (codes, scales,
// minimums).
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace writ {

inline constexpr int64_t kPanelRows = 16;
inline constexpr int64_t kBlockElements = 32;
inline constexpr int64_t kSuperElements = 256;
inline constexpr int64_t kPackedAlignment = 64;
inline constexpr int64_t kVectorBytes = 64;

/// Where the codes of the elements 4g .. 4g + 3 of a block lie: bits lowShift.. of vector `low`
/// and, above them, bits highShift.. of vector `high`.
struct CodePlace {
  int64_t low, lowShift, high, highShift;
};
/// A storage's codes: `lowBits` bits in the first place and `highBits` in the second.
struct CodeBits {
  int lowBits, highBits;
  constexpr int bits() const { return lowBits + highBits; }
};
inline constexpr CodeBits kCodes4{4, 0}, kCodes5{4, 1}, kCodes6{4, 2}, kCodes8{8, 0};

/// A block of 32. 4 and 5 bits: vector v = 0 .. 3 holds group v in its low and group v + 4 in its
/// high nibbles; 5 bits: bit g of vector 4 is the high bit of group g. 8 bits: group g is vector g.
constexpr CodePlace blockPlace(const CodeBits &codes, int64_t group) {
  if (codes.lowBits == 8)
    return {group, 0, 0, 0};
  return {group % 4, group / 4 * 4, 4, group};
}

/// A block of 256 in `subBlocks` sub-blocks of G groups. Group v of sub-block j: nibble j mod 2 of
/// vector G (j / 2) + v and, above it, the high bits from bit highBits * v of vector 32 + j.
constexpr CodePlace superPlace(const CodeBits &codes, int64_t subBlocks, int64_t group) {
  const int64_t groups = kSuperElements / 4 / subBlocks, j = group / groups, v = group % groups;
  return {j / 2 * groups + v, j % 2 * 4, 32 + j, codes.highBits * v};
}

/// Bytes that one block of 32 elements takes in a panel16_k4 panel, for its 16 rows.
struct BlockPanelBytes {
  int64_t codes;
  int64_t scales;
  int64_t minimums;

  constexpr int64_t block() const { return codes + scales + minimums; }
};
inline constexpr BlockPanelBytes kPanelBytesQ4_0{256, 32, 0};
inline constexpr BlockPanelBytes kPanelBytesQ4_1{256, 32, 32};
inline constexpr BlockPanelBytes kPanelBytesQ5_0{320, 32, 0};
inline constexpr BlockPanelBytes kPanelBytesQ5_1{320, 32, 32};
inline constexpr BlockPanelBytes kPanelBytesQ8_0{512, 32, 0};

constexpr int64_t alignUp(int64_t bytes, int64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// One record of a panel16_k4_b256 panel: bytes of each part, for its 16 rows.
struct SuperPanelBytes {
  int64_t codes;
  int64_t subBlocks;
  bool minimums;

  constexpr int64_t subScales() const { return codes; }
  constexpr int64_t subMinimums() const { return subScales() + subBlocks * kPanelRows; }
  constexpr int64_t scales() const {
    return minimums ? subMinimums() + subBlocks * kPanelRows : subMinimums();
  }
  constexpr int64_t scaleMinimums() const { return scales() + 2 * kPanelRows; }
  constexpr int64_t record() const {
    return alignUp(minimums ? scaleMinimums() + 2 * kPanelRows : scaleMinimums(), kPackedAlignment);
  }
};
inline constexpr SuperPanelBytes kPanelBytesQ4_K{32 * kVectorBytes, 8, true};
inline constexpr SuperPanelBytes kPanelBytesQ5_K{40 * kVectorBytes, 8, true};
inline constexpr SuperPanelBytes kPanelBytesQ6_K{48 * kVectorBytes, 16, false};

constexpr int64_t panelCount(int64_t n) {
  return (n + kPanelRows - 1) / kPanelRows;
}
/// Blocks of a record: as few as begin and end on cache lines in every storage, so that a panel is
/// read as one stream.
inline constexpr int64_t kRecordBlocks = 2;
/// Where the parts of block `block` of `blocks` lie in their panel, in bytes.
struct BlockParts {
  int64_t codes, scales, minimums;
};
constexpr BlockParts blockParts(const BlockPanelBytes &bytes, int64_t blocks, int64_t block) {
  const int64_t within = block % kRecordBlocks, first = block - within, left = blocks - first;
  const int64_t held = left < kRecordBlocks ? left : kRecordBlocks;
  const int64_t record = first * bytes.block(), scales = record + held * bytes.codes;
  return {record + within * bytes.codes, scales + within * bytes.scales,
          scales + held * bytes.scales + within * bytes.minimums};
}
/// Bytes from one quantized panel to the next; `k` is a multiple of 32.
constexpr int64_t panelStride(const BlockPanelBytes &bytes, int64_t k) {
  return alignUp(k / kBlockElements * bytes.block(), kPackedAlignment);
}
/// The same; `k` is a multiple of 256.
constexpr int64_t panelStride(const SuperPanelBytes &block, int64_t k) {
  return k / kSuperElements * block.record();
}
/// Bytes from one panel of scalars to the next.
constexpr int64_t panelStride(int64_t elementBytes, int64_t k) {
  return alignUp(k * kPanelRows * elementBytes, kPackedAlignment);
}

/// Activation codes: one row is k codes (int8), then k / block scales
/// (binary32), then the exact sums of each `sumElements` codes (int32, of 16 codes int16). Rows are
/// rounded up to 64 bytes.
struct ActivationCodes {
  const char *storage;
  int64_t block, sumElements, sumBytes;

  constexpr int64_t scales(int64_t k) const { return k; }
  constexpr int64_t sums(int64_t k) const { return k + k / block * 4; }
  constexpr int64_t end(int64_t k) const { return sums(k) + k / sumElements * sumBytes; }
  constexpr int64_t rowBytes(int64_t k) const { return alignUp(end(k), kPackedAlignment); }
};
inline constexpr ActivationCodes kActivationB32{"i8_b32_sf32", 32, 32, 4};
inline constexpr ActivationCodes kActivationB256{"i8_b256_sf32", 256, 16, 2};
inline constexpr const ActivationCodes *kActivationCodes[] = {&kActivationB32, &kActivationB256};

/// Activation codes block after block, without gaps, as ggml holds them: the scale (binary16, of
/// q8_k binary32) comes first. `valueSum`: a binary16, the sum of the values; `codeSums`: the sums
/// of each 16 codes (int16); 0 where a storage has none.
struct ActivationBlocks {
  const char *storage;
  int64_t elements, bytes, codes, valueSum, codeSums;

  constexpr int64_t rowBytes(int64_t k) const { return k / elements * bytes; }
};
inline constexpr ActivationBlocks kActivationQ8_0{"q8_0", 32, 34, 2, 0, 0};
inline constexpr ActivationBlocks kActivationQ8_1{"q8_1", 32, 36, 4, 2, 0};
inline constexpr ActivationBlocks kActivationQ8_K{"q8_k", 256, 292, 4, 0, 260};
inline constexpr const ActivationBlocks *kActivationBlocks[] = {&kActivationQ8_0, &kActivationQ8_1,
                                                                &kActivationQ8_K};

} // namespace writ
