//===- OracleStorage.h - operands as their formats define them ------------===//
//
// The oracles read stored bytes by themselves: block formats by GGUF's definition of each, element
// by element; floats by IEEE 754. Nothing of ir/Reference has a part in it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/conformance/Problem.h"

namespace writ::test::oracle {

/// Element `index` of a row of f32, f16, bf16 or f64.
double scalarAt(const std::string &storage, const std::byte *row, int64_t index);

/// One element of a block of weights: scale * subScale * code + minimum * subMinimum.
struct BlockElement {
  double scale = 0, minimum = 0; ///< the minimum as it is added: negative where formats take it off
  int code = 0, subScale = 1, subMinimum = 0;
};
BlockElement blockElementAt(const std::string &storage, const std::byte *row, int64_t index);

/// Elements of a block of weights; 1 of a storage of scalars.
int64_t blockSize(const std::string &storage);

/// A row of k activation codes.
struct Codes {
  const std::string &storage;
  const std::byte *row;
  int64_t k;

  int64_t blockSize() const;
  int code(int64_t index) const;
  double scale(int64_t block) const;
  bool hasValueSum() const { return storage == "q8_1"; }
  double valueSum(int64_t block) const;
  bool hasHalfScale() const { return storage == "q8_0" || storage == "q8_1"; }

private:
  const std::byte *blockAt(int64_t block) const;
};

int64_t rowBytes(const std::string &storage, int64_t elements);

/// `value` as an operand that is rounded to binary16 or bfloat16 when it is read: nearest even,
/// what is too large to infinity.
double roundedToBinary16(double value);
double roundedToBfloat16(double value);

/// All elements of an operand of scalars.
std::vector<double> valuesOf(const Problem &problem, const std::string &operand);
double valueOf(const Problem &problem, const std::string &operand, int64_t index);

} // namespace writ::test::oracle
