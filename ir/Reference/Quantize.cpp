//===- Quantize.cpp - activation codes ------------------------------------===//
#include "ir/Reference/CodesOfBlock.h"
#include "ir/Reference/Entries.h"
#include "ir/Reference/Operands.h"

namespace writ::reference {
namespace {

/// What is stored beside the codes of a block.
enum class Sums { ofBlock, ofSixteen, scaledOfBlock, none };

void storeBlock(ActivationRow &row, int64_t b, const BlockCodes &block, Sums sums) {
  const auto elements = static_cast<int64_t>(block.codes.size()), first = b * elements;
  for (int64_t i = 0; i < elements; ++i)
    row.setCode(first + i, block.codes[static_cast<size_t>(i)]);
  row.setScale(b, block.scale);
  if (sums == Sums::scaledOfBlock)
    row.setValueSum(b, block.scale * static_cast<float>(block.sum));
  const int64_t summed = row.sumElements();
  for (int64_t i = 0; summed && i < elements; i += summed) {
    int32_t sum = 0;
    for (int64_t j = i; j < i + summed; ++j)
      sum += block.codes[static_cast<size_t>(j)];
    row.setSum((first + i) / summed, sum);
  }
}

} // namespace

void evaluateQuantizeActivation(Call &call) {
  Fields fields(call, "quantize_activation");
  fields.require("compute", "fp32");
  const BlockQuantizer quantizer(fields);
  const auto sums = static_cast<Sums>(
      fields.choose("sums", {"i32_exact", "i16_exact_of_16", "fp16_rounded_scaled_sum", "none"}));
  fields.requireIeee("block_scale_nan_codes_zero", "block_scale_nan_codes_zero");
  fields.requireScalars({"input"});
  const std::string &storage = fields.storage("out");
  if (!isCodes(storage))
    fields.fail("operands.out.storage",
                "operand 'out' has storage '" + storage + "', which holds no activation codes");
  const CodesLayout &layout = codesLayout(storage);
  const int64_t block = quantizer.elements();
  if (block != layout.block)
    fields.fail("block", "field 'block' is " + std::to_string(block) + ", but codes of '" +
                             storage + "' have blocks of " + std::to_string(layout.block) +
                             " elements");
  const int64_t summed = sums == Sums::ofBlock ? block : sums == Sums::ofSixteen ? 16 : 0;
  if (summed != layout.summed || (sums == Sums::scaledOfBlock) != layout.hasValueSum)
    fields.fail("sums", "field 'sums' is '" + fields.word("sums") + "', but codes of '" + storage +
                            "' hold " +
                            (layout.hasValueSum ? "a sum of the values of each block"
                             : layout.summed > 0
                                 ? "a sum of each " + std::to_string(layout.summed) + " codes"
                                 : std::string("no sums")));
  if (quantizer.saysHalfScale() != layout.halfScale)
    fields.fail("scale", "field 'scale' is '" + fields.word("scale") + "', but codes of '" +
                             storage + "' have a scale in " +
                             (layout.halfScale ? "binary16" : "binary32"));
  if (!fields.checkAllRead())
    return;

  const int64_t rows = dimension(call, "rows"), k = dimension(call, "k");
  const Matrix input = matrix(call, "input", rows, k), out = matrix(call, "out", rows, k);
  for (int64_t row = 0; row < rows; ++row) {
    ActivationRow codes(storage, out.row(row), k);
    for (int64_t b = 0; b < k / block; ++b)
      storeBlock(codes, b,
                 quantizer.codesOf([&](int64_t i) { return input.get(row, b * block + i); }), sums);
  }
}

} // namespace writ::reference
