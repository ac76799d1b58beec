//===- PackWeights.h - from a file's weight to a package's ----------------===//
//
// A weight is [n, k]: n output rows of k elements; a vector is [1, k] or [k, 1], which lie alike.
// The file's storage is that of GGUF: scalars row after row, or the blocks of PackBlocks.h. The
// packed layouts are those of writ/packed_layout.h.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace writ {

/// Bytes of the weight in the file, or -1 where the storage is unknown or k is no multiple of its
/// block.
int64_t fileBytes(std::string_view storage, int64_t n, int64_t k);

/// Bytes of the packed weight, or -1 where the layout does not take the storage, n or k is less
/// than 1, k is no multiple of the storage's block, or the size does not fit.
///   plain            any storage that fileBytes knows
///   panel16          f32, f16, bf16
///   panel16_k4       q4_0, q4_1, q5_0, q5_1, q8_0
///   panel16_k4_b256  q4_k, q5_k, q6_k
int64_t packedBytes(std::string_view layout, std::string_view storage, int64_t n, int64_t k);

/// Packs fileBytes(...) bytes at `file` into packedBytes(...) bytes at `packed`, padding and all;
/// the two do not overlap. False where packedBytes is -1. Safe from several threads on different
/// weights.
[[nodiscard]] bool packWeight(std::string_view layout, std::string_view storage, int64_t n,
                              int64_t k, const std::byte *file, std::byte *packed);

/// The inverse, bit for bit.
[[nodiscard]] bool unpackWeight(std::string_view layout, std::string_view storage, int64_t n,
                                int64_t k, const std::byte *packed, std::byte *file);

} // namespace writ
