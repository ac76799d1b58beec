//===- PackBlocks.h - from GGUF's blocks to panels and back ---------------===//
//
// The quantized storages, as GGUF stores them and as writ/packed_layout.h lays them down. Every bit
// of a block has one place in a panel, so that one description serves both ways.
//
//   q4_0, q4_1, q5_0, q5_1, q8_0   32 elements: f16 d, f16 m (of *_1), 4 bytes of high bits (of
//   q5_*,
//                                  element e in bit e), 16 bytes of nibbles (element j low, j + 16
//                                  high) or 32 signed bytes
//   q4_k, q5_k                     256 elements: f16 d, f16 dmin, 12 bytes of 6-bit sub-scales and
//                                  sub-minimums, high bits (of q5_k), nibbles
//   q6_k                           256 elements: nibbles, high bit pairs, 16 sub-scales, f16 d
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace writ {

struct BlockStorage {
  std::string_view name;
  std::string_view layout; ///< the packed layout that takes it
  int64_t elements;        ///< of a block
  int64_t bytes;           ///< of a block in the file
  int64_t (*panelStride)(int64_t k);
  /// Moves block `block` of row `row` < 16 of a panel; `file` is the block, `panel` the panel's
  /// first byte. What is written to is zero before.
  void (*pack)(const std::byte *file, std::byte *panel, int64_t row, int64_t block, int64_t k);
  void (*unpack)(std::byte *file, const std::byte *panel, int64_t row, int64_t block, int64_t k);
};

/// Null where the storage is no quantized one.
const BlockStorage *findBlockStorage(std::string_view name);

} // namespace writ
