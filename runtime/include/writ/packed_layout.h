//===- packed_layout.h - how weights lie in a package ---------------------===//
//
// Packed once when compiling; every instruction set of an architecture reads the same bytes.
// A weight is [n, k]: n output rows of k elements.
//
//   plain       the file's bytes, row after row.
//   panel16     f32, f16, bf16: panels of 16 output rows; a panel is [k][16] elements.
//   panel16_k4  q4_0, q4_1, q8_0: panels of 16 output rows, K-major in groups of 4. With B = k / 32
//               blocks, a panel is codes [B][32 / 4][16][4], then the scales d [B][16] (binary16),
//               then for q4_1 the minimums m [B][16] (binary16). 8-bit codes are stored as w + 128:
//               byte g * 64 + r * 4 + j is element k = 4g + j of row r. 4-bit codes are the file's
//               nibbles (unsigned, 0 .. 15): byte v * 64 + r * 4 + j, v = 0 .. 3, holds k = 4v + j
//               in its low and k = 16 + 4v + j in its high nibble.
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
inline constexpr int64_t kPackedAlignment = 64;

/// Bytes that one block of 32 elements takes in a panel16_k4 panel, for its 16 rows.
struct BlockPanelBytes {
  int64_t codes;
  int64_t scales;
  int64_t minimums;
};
inline constexpr BlockPanelBytes kPanelBytesQ4_0{256, 32, 0};
inline constexpr BlockPanelBytes kPanelBytesQ4_1{256, 32, 32};
inline constexpr BlockPanelBytes kPanelBytesQ8_0{512, 32, 0};

constexpr int64_t alignUp(int64_t bytes, int64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}
constexpr int64_t panelCount(int64_t n) {
  return (n + kPanelRows - 1) / kPanelRows;
}
/// Bytes from one quantized panel to the next; `k` is a multiple of 32.
constexpr int64_t panelStride(const BlockPanelBytes &block, int64_t k) {
  return alignUp(k / kBlockElements * (block.codes + block.scales + block.minimums),
                 kPackedAlignment);
}
/// Bytes from one panel of scalars to the next.
constexpr int64_t panelStride(int64_t elementBytes, int64_t k) {
  return alignUp(k * kPanelRows * elementBytes, kPackedAlignment);
}

/// Activation codes, storage `i8_b32_sf32`: one row is k codes (int8), then k / 32 scales
/// (binary32), then k / 32 sums of the block's codes (int32, exact). Rows are rounded up to 64
/// bytes.
constexpr int64_t activationCodesRowBytes(int64_t k) {
  return alignUp(k + k / kBlockElements * 8, kPackedAlignment);
}

} // namespace writ
