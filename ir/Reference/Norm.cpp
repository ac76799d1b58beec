//===- Norm.cpp - root mean square, layer and L2 normalization ------------===//
#include "ir/Reference/Entries.h"
#include "ir/Reference/Operands.h"
#include "ir/Reference/Reduction.h"

#include <cmath>
#include <optional>

namespace writ::reference {
namespace {

/// A row is `vectors` vectors of n elements, each normalized by itself.
struct Vectors {
  int64_t n, vectors, rows;
  Matrix input, out;

  explicit Vectors(const Call &call)
      : n(dimension(call, "n")), vectors(dimension(call, "vectors")), rows(dimension(call, "rows")),
        input(matrix(call, "input", rows, vectors * n)),
        out(matrix(call, "out", rows, vectors * n)) {}

  int64_t count() const { return rows * vectors; }
  float get(int64_t vector, int64_t i) const {
    return input.get(vector / vectors, vector % vectors * n + i);
  }
  void set(int64_t vector, int64_t i, float value) const {
    out.set(vector / vectors, vector % vectors * n + i, value);
  }
};

/// rn(1 / rn(sqrt(rn(mean + epsilon)))).
float reciprocalOfRoot(float mean, float epsilon) {
  const float shifted = mean + epsilon;
  const float root = std::sqrt(shifted);
  return 1.0f / root;
}

} // namespace

void evaluateRmsNorm(Call &call) {
  Fields fields(call, "rms_norm");
  fields.require("compute", "fp32");
  const bool wide =
      fields.choose("mean", {"fp32_divide_by_count", "fp64_divide_by_count_rounded"}) == 1;
  const Reduction sumOfSquares(call, fields, "sum_of_squares",
                               wide ? Summed::wideProducts : Summed::products);
  fields.require("inverse_root", "fp32_reciprocal_of_sqrt");
  fields.require("output", "fp32_mul_root_mul_weight");
  fields.requireIeee();
  fields.requireScalars({"input", "weight", "bias", "out"});
  if (!fields.checkAllRead())
    return;

  const Vectors rows(call);
  const float epsilon = number(call, "epsilon");
  const Matrix weight = matrix(call, "weight", 1, rows.n);
  for (int64_t vector = 0; vector < rows.count(); ++vector) {
    auto x = [&](int64_t i) { return rows.get(vector, i); };
    const float mean = wide ? static_cast<float>(sumOfSquares.wideProducts(rows.n, x, x) /
                                                 static_cast<double>(rows.n))
                            : sumOfSquares.products(rows.n, x, x, sumOfSquares.unitElements()) /
                                  static_cast<float>(rows.n);
    const float inverse = reciprocalOfRoot(mean, epsilon);
    for (int64_t i = 0; i < rows.n; ++i) {
      const float scaled = x(i) * inverse;
      rows.set(vector, i, scaled * weight.get(0, i));
    }
  }
}

void evaluateLayerNorm(Call &call) {
  Fields fields(call, "layer_norm");
  fields.require("compute", "fp32");
  const Reduction sum(call, fields, "sum", Summed::terms);
  fields.require("mean", "fp32_divide_by_count");
  fields.require("deviation", "fp32_subtract_mean");
  const Reduction sumOfSquares(call, fields, "sum_of_squares", Summed::products);
  fields.require("variance", "fp32_divide_by_count");
  fields.require("inverse_root", "fp32_reciprocal_of_sqrt");
  fields.require("output", "fp32_mul_root_mul_weight");
  fields.require("bias", "fp32_add_last");
  fields.requireIeee();
  fields.requireScalars({"input", "weight", "bias", "out"});
  if (!fields.checkAllRead())
    return;

  const Vectors rows(call);
  const float epsilon = number(call, "epsilon"), count = static_cast<float>(rows.n);
  const Matrix weight = matrix(call, "weight", 1, rows.n);
  std::optional<Matrix> bias;
  if (optionalOperand(call, "bias"))
    bias = matrix(call, "bias", 1, rows.n);
  for (int64_t vector = 0; vector < rows.count(); ++vector) {
    const float total = sum.terms(rows.n, [&](int64_t i) { return rows.get(vector, i); });
    const float mean = total / count;
    auto deviation = [&](int64_t i) { return rows.get(vector, i) - mean; };
    const float squares =
        sumOfSquares.products(rows.n, deviation, deviation, sumOfSquares.unitElements());
    const float inverse = reciprocalOfRoot(squares / count, epsilon);
    for (int64_t i = 0; i < rows.n; ++i) {
      const float scaled = deviation(i) * inverse;
      const float weighted = scaled * weight.get(0, i);
      rows.set(vector, i, bias ? weighted + bias->get(0, i) : weighted);
    }
  }
}

void evaluateL2Norm(Call &call) {
  Fields fields(call, "l2_norm");
  fields.require("compute", "fp32");
  const Reduction sumOfSquares(call, fields, "sum_of_squares", Summed::products);
  fields.require("inverse_root", "fp32_reciprocal_of_larger_of_sqrt_and_epsilon");
  fields.require("output", "fp32_mul_root");
  fields.requireIeee();
  fields.requireScalars({"input", "weight", "bias", "out"});
  if (!fields.checkAllRead())
    return;

  const Vectors rows(call);
  const float epsilon = number(call, "epsilon");
  for (int64_t vector = 0; vector < rows.count(); ++vector) {
    auto x = [&](int64_t i) { return rows.get(vector, i); };
    const float sum = sumOfSquares.products(rows.n, x, x, sumOfSquares.unitElements());
    const float root = std::sqrt(sum);
    const float inverse = 1.0f / (root < epsilon ? epsilon : root); // a NaN is not smaller
    for (int64_t i = 0; i < rows.n; ++i)
      rows.set(vector, i, x(i) * inverse);
  }
}

} // namespace writ::reference
