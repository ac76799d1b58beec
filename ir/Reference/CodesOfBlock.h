//===- CodesOfBlock.h - integer codes of one block of values --------------===//
#pragma once

#include "ir/Reference/Fields.h"

#include <functional>

namespace writ::reference {

/// What one block becomes.
struct BlockCodes {
  float scale = 0; ///< d in binary32, as the words make it; a NaN where the block has no codes
  std::vector<int32_t> codes;
};

/// The words by which a block of values gets a scale and codes, of the contract's fields `block`,
/// `code_limit`, `magnitude`, `scale`, `code`, `code_rounding` and `zero_below`.
class BlockQuantizer {
public:
  explicit BlockQuantizer(Fields &fields);
  int64_t elements() const { return block; }
  int64_t limit() const { return codeLimit; }
  /// Element i of the block is value(i).
  BlockCodes codesOf(const std::function<float(int64_t)> &value) const;

private:
  int64_t block, codeLimit;
  float zeroBelow;
};

} // namespace writ::reference
