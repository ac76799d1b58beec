//===- Storage.h - tensors as a model's file holds them -------------------===//
#pragma once

#include "ir/Reference/Reference.h"

#include <array>

namespace writ::reference {

inline constexpr int64_t blockElements = 32;

/// Bytes of one row of `elements` elements; the elements fill whole blocks.
int64_t rowBytes(const std::string &storage, int64_t elements);

/// Element `index` of a row of f32, f16 or bf16; exact.
float readScalar(const std::string &storage, const std::byte *row, int64_t index);
double readF64(const std::byte *row, int64_t index);
void writeScalar(const std::string &storage, std::byte *row, int64_t index, float value);

/// One block of a quantized weight: its codes (centred where the storage says so), scale and
/// minimum.
struct Block {
  float scale = 0, minimum = 0;
  std::array<int32_t, blockElements> code{};
};
Block readBlock(const std::string &storage, const std::byte *row, int64_t block);

/// A row of activation codes over k elements.
struct ActivationRow {
  ActivationRow(std::byte *row, int64_t k);
  int8_t code(int64_t index) const;
  float scale(int64_t block) const;
  int32_t sum(int64_t block) const;
  void setCode(int64_t index, int8_t code);
  void setScale(int64_t block, float scale);
  void setSum(int64_t block, int32_t sum);

private:
  std::byte *codes, *scales, *sums;
};

} // namespace writ::reference
