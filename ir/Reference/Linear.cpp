//===- Linear.cpp - y = W x + b, by blocks or by elements -----------------===//
#include "ir/Reference/Linear.h"
#include "ir/Reference/Decode.h"
#include "ir/Reference/Entries.h"
#include "ir/Reference/Reduction.h"
#include "ir/Reference/Scalar.h"

#include <cmath>

namespace writ::reference {
namespace {

enum class BlockTerm { scaleDot, scaleDotMinimumSum, scaleDotNegatedMinimumSum };

/// One block's t: the scaled exact integer dot of its codes with the activation's. Where the
/// product is scaled, each sub-block counts by its integer scale, and in the sum by its minimum.
float blockTerm(BlockTerm form, bool scaled, const Block &block, const ActivationRow &activation,
                int64_t b) {
  const int64_t elements = static_cast<int64_t>(block.code.size());
  int32_t dot = 0, sum = 0;
  for (int64_t j = 0; j < elements; ++j) {
    const int32_t code = activation.code(b * elements + j);
    const int64_t sub = j / block.subElements();
    dot += (scaled ? block.subScale[sub] : 1) * block.code[j] * code;
    sum += (scaled ? block.subMinimum[sub] : 1) * code;
  }
  const float i = static_cast<float>(dot);
  if (form == BlockTerm::scaleDot)
    return block.scale * i;
  const float minimum = block.minimum * static_cast<float>(sum);
  return std::fma(block.scale, i, form == BlockTerm::scaleDotMinimumSum ? minimum : -minimum);
}

void evaluateBlocks(const Linear &linear, const Reduction &reduction, BlockTerm form, bool scaled) {
  const std::string &storage = linear.weight.storage();
  const int64_t blocks = linear.k / blockElements(storage);
  for (int64_t column = 0; column < linear.n; ++column) {
    std::vector<Block> weight;
    for (int64_t b = 0; b < blocks; ++b)
      weight.push_back(readBlock(storage, linear.weight.row(column), b));
    for (int64_t row = 0; row < linear.rows; ++row) {
      const ActivationRow activation(linear.activation.storage(), linear.activation.row(row),
                                     linear.k);
      auto scale = [&](int64_t b) { return activation.scale(b); };
      auto term = [&](int64_t b) { return blockTerm(form, scaled, weight[b], activation, b); };
      linear.store(row, column, reduction.products(blocks, scale, term, 1));
    }
  }
}

void evaluateElements(const Linear &linear, const Reduction &reduction, const Decoder &decoder,
                      Rounding ofActivation) {
  for (int64_t column = 0; column < linear.n; ++column) {
    const std::vector<float> weight = decoder.values(linear.weight.row(column), linear.k);
    for (int64_t row = 0; row < linear.rows; ++row) {
      auto x = [&](int64_t i) { return rounded(ofActivation, linear.activation.get(row, i)); };
      auto w = [&](int64_t i) { return weight[i]; };
      linear.store(row, column, reduction.products(linear.k, x, w, reduction.unitElements()));
    }
  }
}

} // namespace

int64_t requireBlocks(const Fields &fields) {
  const std::string &weight = fields.storage("weight"), &codes = fields.storage("activation");
  if (!isBlocks(weight))
    fields.fail("operands.weight.storage",
                "operand 'weight' has storage '" + weight + "', which has no blocks of codes");
  if (!isCodes(codes))
    fields.fail("operands.activation.storage", "operand 'activation' has storage '" + codes +
                                                   "', which holds no activation codes");
  const int64_t elements = blockElements(weight);
  if (blockElements(codes) != elements)
    fields.fail("operands.activation.storage",
                "codes of '" + codes + "' have blocks of " + std::to_string(blockElements(codes)) +
                    " elements, and the weight's '" + weight + "' of " + std::to_string(elements));
  return elements;
}

void evaluateLinear(Call &call) {
  Fields fields(call, "linear");
  const size_t product =
      fields.choose("product", {"i32_exact_dot", "i32_exact_scaled_dot", "fp32_each_element",
                                "i32_exact_lane_dots", "i32_exact_scaled_lane_dots",
                                "i32_exact_scaled_lane_dots_offset32"});
  if (product >= 3)
    return evaluateLaneDots(call, fields, static_cast<LaneDots>(product - 3));
  const bool blocks = product < 2;
  Rounding ofActivation = Rounding::none;
  if (blocks)
    fields.require("activation_compute", "integer_codes");
  else
    ofActivation = static_cast<Rounding>(fields.choose(
        "activation_compute", {"fp32", "fp16_rounded", "bf16_rounded", "bf16_rounded_flushed"}));
  fields.require("weight_compute", blocks ? "integer_codes" : "fp32");
  const Reduction reduction(call, fields, "reduction", Summed::products);
  fields.require("bias", "fp32_add_last");
  fields.requireIeee("propagates", "ieee", reduction.flushes());
  fields.requireScalars({"bias", "out"});
  if (blocks) {
    fields.require("decode", "none");
    const auto form = static_cast<BlockTerm>(
        fields.choose("block_term", {"fp32_mul_scale_dot", "fp32_fma_scale_dot_minimum_sum",
                                     "fp32_fma_scale_dot_negated_minimum_sum"}));
    fields.require("block_accumulate", "fp32_activation_scale_times_term");
    const int64_t elements = requireBlocks(fields);
    if (!reduction.isLeftOpen() && reduction.unitElements() != elements)
      fields.fail("reduction",
                  "field 'reduction' is '" + fields.word("reduction") + "', whose units have " +
                      std::to_string(reduction.unitElements()) + " elements, but blocks of '" +
                      fields.storage("weight") + "' have " + std::to_string(elements));
    if (!fields.checkAllRead())
      return;
    evaluateBlocks(Linear(call), reduction, form, product == 1);
  } else {
    const Decoder decoder(fields);
    fields.require("block_term", "none");
    fields.require("block_accumulate", "none");
    fields.requireScalars({"activation"});
    if (!fields.checkAllRead())
      return;
    evaluateElements(Linear(call), reduction, decoder, ofActivation);
  }
}

} // namespace writ::reference
