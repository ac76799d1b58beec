//===- LogProbability.cpp - log of a token's softmax probability ----------===//
#include "ir/Reference/Entries.h"
#include "ir/Reference/Function.h"
#include "ir/Reference/Operands.h"
#include "ir/Reference/Reduction.h"
#include "ir/Reference/Scalar.h"

namespace writ::reference {

void evaluateLogProbability(Call &call) {
  Fields fields(call, "log_probability");
  fields.require("compute", "fp32");
  fields.require("maximum", "exact_max");
  const Function exponential = readFunction(call, fields, "exponential");
  const Reduction reduction(call, fields, "reduction", Summed::terms);
  const Function logarithm = readFunction(call, fields, "logarithm");
  fields.require("output", "fp32_difference_minus_log");
  fields.requireIeee();
  fields.requireScalars({"logits", "out"});
  if (!fields.checkAllRead())
    return;

  const int64_t rows = dimension(call, "rows"), vocabulary = dimension(call, "vocabulary");
  const Matrix logits = matrix(call, "logits", rows, vocabulary);
  const Matrix out = matrix(call, "out", rows, 1);
  for (int64_t row = 0; row < rows; ++row) {
    const int32_t token = call.rows.token.at(row);
    if (token < 0 || token >= vocabulary)
      throw ReferenceError("token " + std::to_string(token) + " is not in the vocabulary");
    float maximum = -infinity; // a NaN reaches the result through the sum
    for (int64_t i = 0; i < vocabulary; ++i)
      maximum = logits.get(row, i) > maximum ? logits.get(row, i) : maximum;
    const float sum = reduction.terms(
        vocabulary, [&](int64_t i) { return exponential(logits.get(row, i) - maximum); });
    const float difference = logits.get(row, token) - maximum;
    out.set(row, 0, difference - logarithm(sum));
  }
}

} // namespace writ::reference
