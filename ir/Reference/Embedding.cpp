//===- Embedding.cpp - weights as values, rows by token -------------------===//
#include "ir/Reference/Decode.h"
#include "ir/Reference/Entries.h"

#include <cmath>

namespace writ::reference {

Decoder::Decoder(Fields &fields, const Call &call)
    : form(static_cast<Form>(fields.choose(
          "decode", {"exact", "fp32_mul_scale_code", "fp32_fma_scale_code_minimum"}))),
      storage(operand(call, "weight").storage) {}

float Decoder::element(const std::byte *row, int64_t index) const {
  if (form == Form::exact)
    return readScalar(storage, row, index);
  const Block block = readBlock(storage, row, index / blockElements);
  const float code = static_cast<float>(block.code[index % blockElements]);
  if (form == Form::scaleTimesCode)
    return block.scale * code;
  return std::fma(block.scale, code, block.minimum);
}

void evaluateEmbedding(Call &call) {
  Fields fields(call, "embedding");
  fields.require("compute", "fp32");
  const Decoder decoder(fields, call);
  const bool scales = fields.attribute("scale") == "sqrt_n";
  fields.choose("scale", {"none", "sqrt_n"});
  fields.require("exceptional.subnormal", "kept");
  fields.choose("exceptional.nan", {"propagates", "copied"});
  fields.choose("exceptional.infinity", {"ieee", "copied"});
  fields.choose("exceptional.overflow", {"to_infinity", "impossible"});
  fields.checkAllRead();

  const int64_t rows = dimension(call, "rows"), n = dimension(call, "n");
  const int64_t vocabulary = dimension(call, "vocabulary");
  const Matrix weight = matrix(call, "weight", vocabulary, n);
  const Matrix out = matrix(call, "out", rows, n);
  const float factor = std::sqrt(static_cast<float>(n));
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < n; ++i) {
      const float value = decoder.element(weight.row(call.rows.token.at(row)), i);
      out.set(row, i, scales ? value * factor : value);
    }
}

} // namespace writ::reference
