//===- Operands.cpp - what a call gives an op -----------------------------===//
#include "ir/Reference/Operands.h"

namespace writ::reference {
namespace {

[[noreturn]] void fail(const std::string &name, const std::string &what) {
  throw ReferenceError("operand '" + name + "' " + what);
}

int64_t rowsOf(const Operand &operand) {
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < operand.shape.size(); ++i)
    rows *= operand.shape[i];
  return rows;
}

} // namespace

int64_t dimension(const Call &call, const char *name) {
  auto found = call.dimensions.find(name);
  if (found == call.dimensions.end() || found->second < 0)
    throw ReferenceError(std::string("dimension '") + name + "' is missing or negative");
  return found->second;
}

float number(const Call &call, const char *name) {
  auto found = call.numbers.find(name);
  if (found == call.numbers.end())
    throw ReferenceError(std::string("number '") + name + "' is missing");
  const float value = static_cast<float>(found->second);
  if (static_cast<double>(value) != found->second)
    throw ReferenceError(std::string("number '") + name + "' is not a binary32 value");
  return value;
}

const Operand *optionalOperand(const Call &call, const char *name) {
  auto found = call.operands.find(name);
  if (found == call.operands.end())
    return nullptr;
  const Operand &operand = found->second;
  const nlohmann::json &operands = call.contract->at("operands");
  if (!operands.contains(name))
    fail(name, "is not one of the contract's");
  const std::string stated = operands[name].value("storage", "");
  if (operand.storage != stated)
    fail(name, "has storage '" + operand.storage + "'; the contract says '" + stated + "'");
  if (operand.shape.empty() || rowsOf(operand) * rowBytes(operand.storage, operand.shape.back()) !=
                                   static_cast<int64_t>(operand.bytes.size()))
    fail(name, "has " + std::to_string(operand.bytes.size()) + " bytes, not those of its shape");
  return &operand;
}

const Operand &operand(const Call &call, const char *name) {
  const Operand *found = optionalOperand(call, name);
  if (!found)
    fail(name, "is missing");
  return *found;
}

Matrix::Matrix(const Operand &operand, Flush flush)
    : storageName(&operand.storage), base(operand.bytes.data()), rowCount(rowsOf(operand)),
      columnCount(operand.shape.back()), stride(rowBytes(operand.storage, columnCount)),
      flush(flush) {}

std::byte *Matrix::row(int64_t index) const {
  if (index < 0 || index >= rowCount)
    throw ReferenceError("row " + std::to_string(index) + " of " + std::to_string(rowCount));
  return base + index * stride;
}

float Matrix::get(int64_t row, int64_t column) const {
  const float value = readScalar(*storageName, this->row(row), column);
  return flush.read ? Flush::applied(value) : value;
}

void Matrix::set(int64_t row, int64_t column, float value) const {
  writeScalar(*storageName, this->row(row), column, flush.write ? Flush::applied(value) : value);
}

Matrix matrix(const Call &call, const char *name, int64_t rows, int64_t columns) {
  Matrix found(operand(call, name), flushOf(call));
  if (found.rows() != rows || found.columns() != columns)
    fail(name, "is [" + std::to_string(found.rows()) + ", " + std::to_string(found.columns()) +
                   "], expected [" + std::to_string(rows) + ", " + std::to_string(columns) + "]");
  return found;
}

} // namespace writ::reference
