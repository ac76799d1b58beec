//===- Linear.h - the operands of y = W x + b -----------------------------===//
#pragma once

#include "ir/Reference/Operands.h"

#include <optional>

namespace writ::reference {

struct Linear {
  int64_t rows, k, n;
  Matrix activation, weight, out;
  std::optional<Matrix> bias;

  explicit Linear(const Call &call)
      : rows(dimension(call, "rows")), k(dimension(call, "k")), n(dimension(call, "n")),
        activation(matrix(call, "activation", rows, k)), weight(matrix(call, "weight", n, k)),
        out(matrix(call, "out", rows, n)) {
    if (optionalOperand(call, "bias"))
      bias = matrix(call, "bias", 1, n);
  }

  /// Stores one output, the bias added last.
  void store(int64_t row, int64_t column, float sum) const {
    out.set(row, column, bias ? sum + bias->get(0, column) : sum);
  }
};

class Fields;

/// Weight and activation of the contract have blocks of one size, which it returns.
int64_t requireBlocks(const Fields &fields);

/// Products that are several dots of each block, which go to lanes of their own.
enum class LaneDots { plain, scaled, scaledWithOffset };

/// Linear by such dots; reads what else the contract says, and checks that all was read.
void evaluateLaneDots(Call &call, Fields &fields, LaneDots dots);

} // namespace writ::reference
