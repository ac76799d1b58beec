//===- Decode.h - the values of a weight ----------------------------------===//
#pragma once

#include "ir/Reference/Fields.h"
#include "ir/Reference/Operands.h"

namespace writ::reference {

/// A weight of any storage as binary32 values, by the word of the contract's field `decode`.
class Decoder {
public:
  Decoder(Fields &fields, const Call &call);
  /// Element `index` of the row at `row`.
  float element(const std::byte *row, int64_t index) const;

private:
  enum class Form { exact, scaleTimesCode, scaleTimesCodePlusMinimum };
  Form form;
  std::string storage;
};

} // namespace writ::reference
