//===- Embedding.cpp - weights as values, rows by token -------------------===//
#include "ir/Reference/Decode.h"
#include "ir/Reference/Entries.h"

#include <cmath>

namespace writ::reference {

Decoder::Decoder(Fields &fields)
    : form(static_cast<Form>(fields.choose(
          "decode", {"exact", "fp32_mul_scale_code", "fp32_fma_scale_code_minimum",
                     "fp32_mul_scaled_code", "fp32_fma_scaled_code_negated_minimum"}))),
      storage(fields.storage("weight")) {
  if (form == Form::exact ? !isScalar(storage) : !isBlocks(storage))
    fields.fail("decode", "field 'decode' is '" + fields.word("decode") +
                              "', which is no way to read a weight of '" + storage + "'");
}

std::vector<float> Decoder::values(const std::byte *row, int64_t count) const {
  std::vector<float> values;
  if (form == Form::exact) {
    for (int64_t i = 0; i < count; ++i)
      values.push_back(readScalar(storage, row, i));
    return values;
  }
  const int64_t elements = blockElements(storage);
  for (int64_t b = 0; b < count / elements; ++b) {
    const Block block = readBlock(storage, row, b);
    for (int64_t i = 0; i < elements; ++i)
      values.push_back(value(block, i));
  }
  return values;
}

/// Element `index` of a block.
float Decoder::value(const Block &block, int64_t index) const {
  const float code = static_cast<float>(block.code[index]);
  if (form == Form::scaleTimesCode)
    return block.scale * code;
  if (form == Form::scaleTimesCodePlusMinimum)
    return std::fma(block.scale, code, block.minimum);
  const int64_t sub = index / block.subElements();
  const float scale = block.scale * static_cast<float>(block.subScale[sub]);
  if (form == Form::scaledCode)
    return scale * code;
  const float minimum = block.minimum * static_cast<float>(block.subMinimum[sub]);
  return std::fma(scale, code, -minimum);
}

void evaluateEmbedding(Call &call) {
  Fields fields(call, "embedding");
  fields.require("compute", "fp32");
  const Decoder decoder(fields);
  const bool scales = fields.attribute("scale") == "sqrt_n";
  fields.choose("scale", {"none", "sqrt_n"});
  fields.require("exceptional.subnormal", "kept");
  fields.choose("exceptional.nan", {"propagates", "copied"});
  fields.choose("exceptional.infinity", {"ieee", "copied"});
  fields.choose("exceptional.overflow", {"to_infinity", "impossible"});
  fields.requireScalars({"out"});
  if (!fields.checkAllRead())
    return;

  const int64_t rows = dimension(call, "rows"), n = dimension(call, "n");
  const int64_t vocabulary = dimension(call, "vocabulary");
  const Matrix weight = matrix(call, "weight", vocabulary, n);
  const Matrix out = matrix(call, "out", rows, n);
  const float factor = std::sqrt(static_cast<float>(n));
  for (int64_t row = 0; row < rows; ++row) {
    const std::vector<float> values = decoder.values(weight.row(call.rows.token.at(row)), n);
    for (int64_t i = 0; i < n; ++i)
      out.set(row, i, scales ? values[i] * factor : values[i]);
  }
}

} // namespace writ::reference
