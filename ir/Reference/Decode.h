//===- Decode.h - the values of a weight ----------------------------------===//
#pragma once

#include "ir/Reference/Fields.h"
#include "ir/Reference/Operands.h"

namespace writ::reference {

/// A weight of any storage as binary32 values, by the word of the contract's field `decode`.
class Decoder {
public:
  explicit Decoder(Fields &fields);
  /// The first `count` elements of the row at `row`; they fill whole blocks.
  std::vector<float> values(const std::byte *row, int64_t count) const;

private:
  enum class Form {
    exact,
    scaleTimesCode,
    scaleTimesCodePlusMinimum,
    scaledCode,
    scaledCodeMinusMinimum
  };
  float value(const Block &block, int64_t index) const;

  Form form;
  std::string storage;
};

} // namespace writ::reference
