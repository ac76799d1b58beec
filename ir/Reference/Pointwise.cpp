//===- Pointwise.cpp - activations, caps, residual, row selection ---------===//
#include "ir/Reference/Entries.h"
#include "ir/Reference/Fields.h"
#include "ir/Reference/Function.h"
#include "ir/Reference/Operands.h"

#include <algorithm>

namespace writ::reference {

void evaluateGate(Call &call) {
  Fields fields(call, "gate");
  fields.require("compute", "fp32");
  fields.attribute("activation"); // a name; its arithmetic is that of `function`
  const Function activation = readFunction(call, fields, "function");
  fields.require("product", "fp32_mul");
  fields.requireIeee();
  fields.requireScalars({"gate", "up", "out"});
  if (!fields.checkAllRead())
    return;

  const int64_t rows = dimension(call, "rows"), n = dimension(call, "n");
  const Matrix gate = matrix(call, "gate", rows, n), up = matrix(call, "up", rows, n);
  const Matrix out = matrix(call, "out", rows, n);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < n; ++i)
      out.set(row, i, activation(gate.get(row, i)) * up.get(row, i));
}

void evaluateActivation(Call &call) {
  Fields fields(call, "activation");
  fields.require("compute", "fp32");
  fields.attribute("activation");
  const Function activation = readFunction(call, fields, "function");
  fields.requireIeee();
  fields.requireScalars({"input", "out"});
  if (!fields.checkAllRead())
    return;

  const int64_t rows = dimension(call, "rows"), n = dimension(call, "n");
  const Matrix input = matrix(call, "input", rows, n), out = matrix(call, "out", rows, n);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < n; ++i)
      out.set(row, i, activation(input.get(row, i)));
}

void evaluateSoftCap(Call &call) {
  Fields fields(call, "soft_cap");
  fields.require("compute", "fp32");
  const Function tanh = readFunction(call, fields, "function");
  fields.require("output", "fp32_cap_times_tanh_of_quotient");
  fields.requireIeee();
  fields.requireScalars({"input", "out"});
  if (!fields.checkAllRead())
    return;

  const int64_t rows = dimension(call, "rows"), n = dimension(call, "n");
  const float cap = number(call, "cap");
  const Matrix input = matrix(call, "input", rows, n), out = matrix(call, "out", rows, n);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < n; ++i) {
      const float quotient = input.get(row, i) / cap;
      out.set(row, i, cap * tanh(quotient));
    }
}

void evaluateResidual(Call &call) {
  Fields fields(call, "residual");
  fields.require("compute", "fp32");
  fields.require("sum", "fp32_add");
  fields.requireIeee();
  fields.requireScalars({"a", "b", "out"});
  if (!fields.checkAllRead())
    return;

  const int64_t rows = dimension(call, "rows"), n = dimension(call, "n");
  const Matrix a = matrix(call, "a", rows, n), b = matrix(call, "b", rows, n);
  const Matrix out = matrix(call, "out", rows, n);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < n; ++i)
      out.set(row, i, a.get(row, i) + b.get(row, i));
}

void evaluateSelectRows(Call &call) {
  Fields fields(call, "select_rows");
  fields.require("copy", "bytes");
  fields.requireIeee("copied", "copied");
  fields.requireStorage("out", fields.storage("input").c_str());
  if (!fields.checkAllRead())
    return;

  // `rows` counts the rows selected; the input has as many as the step.
  const int64_t rows = dimension(call, "rows"), n = dimension(call, "n");
  const std::vector<int32_t> &selected = call.rows.outputRow;
  const Matrix input(operand(call, "input")), out = matrix(call, "out", rows, n);
  if (static_cast<int64_t>(selected.size()) != rows || input.columns() != n)
    throw ReferenceError("select_rows needs one index for each output row, of rows of n elements");
  const int64_t bytes = rowBytes(out.storage(), out.columns());
  for (size_t row = 0; row < selected.size(); ++row)
    std::copy_n(input.row(selected[row]), bytes, out.row(static_cast<int64_t>(row)));
}

} // namespace writ::reference
