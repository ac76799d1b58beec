//===- Storage.h - tensors as a model's file holds them -------------------===//
#pragma once

#include "ir/Reference/Reference.h"

#include <vector>

namespace writ::reference {

/// Whether a storage has a binary32, binary16 or bfloat16 for each element.
bool isScalar(const std::string &storage);
/// Whether it has blocks of codes that readBlock reads.
bool isBlocks(const std::string &storage);
/// Whether it holds activation codes.
bool isCodes(const std::string &storage);

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

/// How a storage holds activation codes: the codes, scales and sums of a row one after the other,
/// or block after block.
struct CodesLayout {
  int64_t block;            ///< elements that share a scale
  int64_t summed = 0;       ///< elements of a stored sum of codes; 0: no such sums
  int64_t sumBytes = 0;     ///< of one such sum
  int64_t blockBytes = 0;   ///< of one block; 0: the parts of a row stand apart
  int64_t codeOffset = 0;   ///< in a block; the scale comes first
  int64_t sumOffset = 0;    ///< in a block
  bool halfScale = false;   ///< the scale is a binary16
  bool hasValueSum = false; ///< a binary16 at sumOffset sums the values that the codes stand for
};
const CodesLayout &codesLayout(const std::string &storage);

/// A row of activation codes over k elements; `storage` says how many make a block and a sum.
class ActivationRow {
public:
  ActivationRow(const std::string &storage, std::byte *row, int64_t k);
  int64_t blockElements() const { return layout->block; }
  int64_t sumElements() const { return layout->summed; } ///< 0: no sums are stored
  bool hasValueSum() const { return layout->hasValueSum; }
  bool hasHalfScale() const { return layout->halfScale; }
  int8_t code(int64_t index) const;
  float scale(int64_t block) const;
  int32_t sum(int64_t run) const;
  float valueSum(int64_t block) const;
  void setCode(int64_t index, int8_t code);
  /// Rounded to the storage of a scale.
  void setScale(int64_t block, float scale);
  void setSum(int64_t run, int32_t sum);
  void setValueSum(int64_t block, float sum);

private:
  std::byte *codeAt(int64_t index) const;
  std::byte *scaleAt(int64_t block) const;
  std::byte *sumAt(int64_t run) const;
  std::byte *valueSumAt(int64_t block) const;

  const CodesLayout *layout;
  std::byte *row;
  int64_t k;
};

} // namespace writ::reference
