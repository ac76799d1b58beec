//===- Operands.h - what a call gives an op -------------------------------===//
#pragma once

#include "ir/Reference/Reference.h"
#include "ir/Reference/Schedule.h"
#include "ir/Reference/Storage.h"

namespace writ::reference {

int64_t dimension(const Call &call, const char *name);
/// A number of the op; binary32 by the families' rule.
float number(const Call &call, const char *name);
/// An operand whose storage is the contract's and whose bytes are those of its shape.
const Operand &operand(const Call &call, const char *name);
/// The same, or null where the call has none.
const Operand *optionalOperand(const Call &call, const char *name);

/// A tensor seen as rows of its last dimension.
class Matrix {
public:
  explicit Matrix(const Operand &operand, Flush flush = {});
  std::byte *row(int64_t index) const;
  int64_t rows() const { return rowCount; }
  int64_t columns() const { return columnCount; }
  const std::string &storage() const { return *storageName; }

  float get(int64_t row, int64_t column) const;
  void set(int64_t row, int64_t column, float value) const;

private:
  const std::string *storageName;
  std::byte *base;
  int64_t rowCount, columnCount, stride;
  Flush flush;
};

/// The operand as [rows, columns]; any other size is an error.
Matrix matrix(const Call &call, const char *name, int64_t rows, int64_t columns);

} // namespace writ::reference
