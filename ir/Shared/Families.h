//===- Families.h - the shapes of the op families -------------------------===//
//
// What the vocabulary does not say because no contract depends on it: which of its dimensions make
// the width of an operand's row, and whether an op reads the rows of the step (token ids,
// positions, block tables). Every IR takes the order of an op's operands from here.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

namespace writ {

/// One tensor operand. Its row holds the product of `width` (names of dimensions) elements.
struct OperandShape {
  std::string_view name;
  std::string_view width[2]; ///< the second is empty where one dimension is the width
};

struct FamilyShape {
  std::string_view family;
  std::span<const OperandShape> inputs;  ///< tensors read, in order
  std::span<const OperandShape> outputs; ///< tensors made, in order
  std::span<const std::string_view> weights;
  std::span<const std::string_view> optionalWeights;
  std::span<const std::string_view> dimensions; ///< static ones ("rows" is symbolic)
  bool readsRows = false;                       ///< takes the rows of the step
  bool readsKv = false;                         ///< takes the KV state
  bool writesKv = false;                        ///< makes a new KV state
  bool selectsRows = false;                     ///< its results have the output rows of the step
  std::span<const std::string_view> optionalNumbers = {};
};

/// The families that run inside a step; null for any other.
const FamilyShape *findFamilyShape(std::string_view family);

/// Elements of one row of `operand`, by the dimensions that `dimension` gives; none where it lacks
/// one.
std::optional<int64_t>
rowWidth(const OperandShape &operand,
         const std::function<std::optional<int64_t>(std::string_view)> &dimension);

/// Bytes of one row of `width` elements of a storage type of activations: "f16", "f32", "i32",
/// "f64", "bf16", or activation codes (packed_layout.h). None where the storage is not one of
/// these or the width does not fit it.
std::optional<int64_t> rowBytes(std::string_view storage, int64_t width);

} // namespace writ
