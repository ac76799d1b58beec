//===- Linear.cpp - y = W x + b, by blocks or by elements -----------------===//
#include "ir/Reference/Decode.h"
#include "ir/Reference/Entries.h"
#include "ir/Reference/Operands.h"
#include "ir/Reference/Reduction.h"

#include <cmath>

namespace writ::reference {
namespace {

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

enum class BlockTerm { scaleDot, scaleDotMinimumSum };

/// One block's t: the scaled exact integer dot of its codes with the activation's.
float blockTerm(BlockTerm form, const Block &block, const ActivationRow &activation, int64_t b) {
  int32_t dot = 0, sum = 0;
  for (int64_t j = 0; j < blockElements; ++j) {
    const int32_t code = activation.code(b * blockElements + j);
    dot += block.code[j] * code;
    sum += code;
  }
  const float i = static_cast<float>(dot);
  if (form == BlockTerm::scaleDot)
    return block.scale * i;
  const float minimum = block.minimum * static_cast<float>(sum);
  return std::fma(block.scale, i, minimum);
}

void evaluateBlocks(const Linear &linear, const Reduction &reduction, BlockTerm form) {
  for (int64_t column = 0; column < linear.n; ++column) {
    std::vector<Block> weight;
    for (int64_t b = 0; b < linear.k / blockElements; ++b)
      weight.push_back(readBlock(linear.weight.storage(), linear.weight.row(column), b));
    for (int64_t row = 0; row < linear.rows; ++row) {
      const ActivationRow activation(linear.activation.row(row), linear.k);
      auto scale = [&](int64_t b) { return activation.scale(b); };
      auto term = [&](int64_t b) { return blockTerm(form, weight[b], activation, b); };
      linear.store(row, column, reduction.products(linear.k / blockElements, scale, term, 1));
    }
  }
}

void evaluateElements(const Linear &linear, const Reduction &reduction, const Decoder &decoder) {
  for (int64_t column = 0; column < linear.n; ++column) {
    std::vector<float> weight;
    for (int64_t i = 0; i < linear.k; ++i)
      weight.push_back(decoder.element(linear.weight.row(column), i));
    for (int64_t row = 0; row < linear.rows; ++row) {
      auto x = [&](int64_t i) { return linear.activation.get(row, i); };
      auto w = [&](int64_t i) { return weight[i]; };
      linear.store(row, column, reduction.products(linear.k, x, w, reduction.unitElements()));
    }
  }
}

} // namespace

void evaluateLinear(Call &call) {
  Fields fields(call, "linear");
  const bool blocks = fields.choose("product", {"i32_exact_dot", "fp32_each_element"}) == 0;
  fields.require("activation_compute", blocks ? "integer_codes" : "fp32");
  fields.require("weight_compute", blocks ? "integer_codes" : "fp32");
  const Reduction reduction(call, fields, "reduction");
  fields.require("bias", "fp32_add_last");
  fields.requireIeee();
  if (blocks) {
    fields.require("decode", "none");
    const auto form = static_cast<BlockTerm>(
        fields.choose("block_term", {"fp32_mul_scale_dot", "fp32_fma_scale_dot_minimum_sum"}));
    fields.require("block_accumulate", "fp32_activation_scale_times_term");
    fields.checkAllRead();
    evaluateBlocks(Linear(call), reduction, form);
  } else {
    const Decoder decoder(fields, call);
    fields.require("block_term", "none");
    fields.require("block_accumulate", "none");
    fields.checkAllRead();
    evaluateElements(Linear(call), reduction, decoder);
  }
}

} // namespace writ::reference
