//===- Rope.cpp - rotary positions ----------------------------------------===//
#include "ir/Reference/Entries.h"
#include "ir/Reference/Fields.h"
#include "ir/Reference/Function.h"
#include "ir/Reference/Operands.h"

#include <cmath>

namespace writ::reference {

/// One row for each row of the step: the cosines and sines of its position.
void evaluateRopeTable(Call &call) {
  Fields fields(call, "rope_table");
  fields.require("compute", "fp64");
  const bool repeated =
      fields.choose("angle", {"fp64_mul_position_frequency", "fp32_repeated_mul_frequency"}) == 1;
  const Function sincos = readSineAndCosine(call, fields, "function");
  fields.require("output_rounding", "nearest_even");
  fields.require("table_order", "cosines_then_sines");
  fields.requireIeee();
  fields.requireStorage("frequencies", "f64");
  fields.requireScalars({"out"});
  if (!fields.checkAllRead())
    return;

  const int64_t rows = dimension(call, "rows"), pairs = dimension(call, "rope_dims") / 2;
  const Matrix frequencies = matrix(call, "frequencies", 1, pairs);
  const Matrix out = matrix(call, "out", rows, 2 * pairs);
  for (int64_t row = 0; row < rows; ++row) {
    const double position = call.rows.position.at(row);
    auto repeatedAngle = static_cast<float>(position); // of pair i, each from the one before
    for (int64_t i = 0; i < pairs; ++i) {
      if (repeated && i > 0)
        repeatedAngle = repeatedAngle * static_cast<float>(readF64(frequencies.row(0), 1));
      const double angle = repeated ? repeatedAngle : position * readF64(frequencies.row(0), i);
      const std::vector<double> sineCosine = sincos.evaluate(angle);
      out.set(row, i, static_cast<float>(sineCosine.at(1)));
      out.set(row, pairs + i, static_cast<float>(sineCosine.at(0)));
    }
  }
}

void evaluateRope(Call &call) {
  Fields fields(call, "rope");
  fields.require("compute", "fp32");
  fields.attribute("pairing");
  const bool interleaved = fields.choose("pairing", {"interleaved", "split_half"}) == 0;
  const bool fuses =
      fields.choose("rotation", {"fp32_fma_of_rounded_cross", "fp32_add_of_rounded_products"}) == 0;
  fields.require("tail", "copied");
  fields.requireIeee();
  fields.requireScalars({"input", "table", "out"});
  if (!fields.checkAllRead())
    return;

  const int64_t rows = dimension(call, "rows"), heads = dimension(call, "heads");
  const int64_t headDim = dimension(call, "head_dim"), pairs = dimension(call, "rope_dims") / 2;
  const Matrix input = matrix(call, "input", rows, heads * headDim);
  const Matrix table = matrix(call, "table", rows, 2 * pairs);
  const Matrix out = matrix(call, "out", rows, heads * headDim);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t head = 0; head < heads; ++head) {
      const int64_t base = head * headDim;
      for (int64_t i = 0; i < pairs; ++i) {
        const int64_t first = base + (interleaved ? 2 * i : i);
        const int64_t second = base + (interleaved ? 2 * i + 1 : i + pairs);
        const float x0 = input.get(row, first), x1 = input.get(row, second);
        const float c = table.get(row, i), s = table.get(row, pairs + i);
        const float cross0 = x1 * s, cross1 = x1 * c;
        const float straight0 = x0 * c, straight1 = x0 * s;
        out.set(row, first, fuses ? std::fma(x0, c, -cross0) : straight0 - cross0);
        out.set(row, second, fuses ? std::fma(x0, s, cross1) : straight1 + cross1);
      }
      for (int64_t i = 2 * pairs; i < headDim; ++i)
        out.set(row, base + i, input.get(row, base + i));
    }
}

} // namespace writ::reference
