//===- Storage.h - tensors as a model's file holds them -------------------===//
#pragma once

#include "ir/Reference/Reference.h"

#include <vector>

namespace writ::reference {

/// Elements of one block of a quantized storage or of activation codes.
int64_t blockElements(const std::string &storage);

/// Bytes of one row of `elements` elements; the elements fill whole blocks.
int64_t rowBytes(const std::string &storage, int64_t elements);

/// Element `index` of a row of f32, f16 or bf16; exact.
float readScalar(const std::string &storage, const std::byte *row, int64_t index);
double readF64(const std::byte *row, int64_t index);
void writeF64(std::byte *row, int64_t index, double value);
void writeScalar(const std::string &storage, std::byte *row, int64_t index, float value);

/// One block of a quantized weight: its codes (centred where the storage says so), in sub-blocks of
/// equal size, each with an integer scale and minimum; a storage without sub-blocks has one, of
/// scale and minimum 1.
struct Block {
  float scale = 0, minimum = 0;
  std::vector<int32_t> code, subScale, subMinimum;

  int64_t subElements() const {
    return static_cast<int64_t>(code.size()) / static_cast<int64_t>(subScale.size());
  }
};
Block readBlock(const std::string &storage, const std::byte *row, int64_t block);
/// A block of q8_0; its scale is rounded to binary16.
void writeQ8Block(std::byte *row, int64_t block, float scale, const std::vector<int32_t> &codes);

/// Activation codes: elements of a block and of a sum, bytes of a sum.
struct CodesSize {
  int64_t block, summed, sumBytes;
};
CodesSize codesSize(const std::string &storage);

/// A row of activation codes over k elements; `storage` says how many make a block and a sum.
class ActivationRow {
public:
  ActivationRow(const std::string &storage, std::byte *row, int64_t k);
  int64_t blockElements() const { return size.block; }
  int64_t sumElements() const { return size.summed; }
  int8_t code(int64_t index) const;
  float scale(int64_t block) const;
  int32_t sum(int64_t run) const;
  void setCode(int64_t index, int8_t code);
  void setScale(int64_t block, float scale);
  void setSum(int64_t run, int32_t sum);

private:
  CodesSize size;
  std::byte *codes, *scales, *sums;
};

} // namespace writ::reference
