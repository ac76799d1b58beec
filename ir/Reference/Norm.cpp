//===- Norm.cpp - root mean square normalization --------------------------===//
#include "ir/Reference/Entries.h"
#include "ir/Reference/Operands.h"
#include "ir/Reference/Reduction.h"

#include <cmath>

namespace writ::reference {

void evaluateRmsNorm(Call &call) {
  Fields fields(call, "rms_norm");
  fields.require("compute", "fp32");
  const Reduction sumOfSquares(call, fields, "sum_of_squares");
  fields.require("mean", "fp32_divide_by_count");
  fields.require("inverse_root", "fp32_reciprocal_of_sqrt");
  fields.require("output", "fp32_mul_root_mul_weight");
  fields.requireIeee();
  fields.checkAllRead();

  const int64_t rows = dimension(call, "rows"), n = dimension(call, "n");
  const int64_t vectors = dimension(call, "vectors"); // of a row, each normalized by itself
  const float epsilon = number(call, "epsilon");
  const Matrix input = matrix(call, "input", rows, vectors * n);
  const Matrix out = matrix(call, "out", rows, vectors * n);
  const Matrix weight = matrix(call, "weight", 1, n);
  for (int64_t vector = 0; vector < rows * vectors; ++vector) {
    const int64_t row = vector / vectors, first = vector % vectors * n;
    auto x = [&](int64_t i) { return input.get(row, first + i); };
    const float sum = sumOfSquares.products(n, x, x, sumOfSquares.unitElements());
    const float mean = sum / static_cast<float>(n);
    const float shifted = mean + epsilon;
    const float root = std::sqrt(shifted);
    const float inverse = 1.0f / root;
    for (int64_t i = 0; i < n; ++i) {
      const float scaled = x(i) * inverse;
      out.set(row, first + i, scaled * weight.get(0, i));
    }
  }
}

} // namespace writ::reference
