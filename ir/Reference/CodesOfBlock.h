//===- CodesOfBlock.h - integer codes of one block of values --------------===//
#pragma once

#include "ir/Reference/Fields.h"

#include <functional>

namespace writ::reference {

/// What one block becomes.
struct BlockCodes {
  float scale = 0; ///< d in binary32, as the words make it; a NaN where the block has no codes
  std::vector<int8_t> codes;
  int32_t sum = 0; ///< of the integers that the codes are stored from, in 32 bits that wrap
};

/// The words by which a block of values gets a scale and codes, of the contract's fields `block`,
/// `code_limit`, `magnitude`, `scale`, `code`, `code_rounding` and `zero_below`.
class BlockQuantizer {
public:
  explicit BlockQuantizer(Fields &fields);
  int64_t elements() const { return block; }
  /// Whether `scale` says that d is stored in binary16; elsewhere the storage alone decides.
  bool saysHalfScale() const { return scale == Scale::magnitudeByLimitInBinary16; }
  /// Element i of the block is value(i).
  BlockCodes codesOf(const std::function<float(int64_t)> &value) const;

private:
  enum class Scale { magnitudeByLimit, magnitudeByLimitInBinary16, reciprocalOfInverse };
  enum class Code { mulInverse, mulInverseSaturated, mulNegatedInverse };

  int32_t integer(float scaled) const;
  int8_t narrowed(int32_t integer) const;

  int64_t block, codeLimit;
  bool isSigned; ///< the magnitude keeps the sign of the element that has it
  Scale scale;
  Code code;
  float zeroBelow;
};

} // namespace writ::reference
