//===- AttentionTwoPass.cpp - softmax over all scores, then the values ----===//
#include "ir/Reference/Entries.h"
#include "ir/Reference/Function.h"
#include "ir/Reference/KvStore.h"
#include "ir/Reference/Operands.h"
#include "ir/Reference/Reduction.h"
#include "ir/Reference/Scalar.h"

#include <algorithm>

namespace writ::reference {
namespace {

struct Words {
  Words(const Call &call, Fields &fields);

  Rounding queryRounding;
  bool scalesQuery;
  Reduction dot, tileSum;
  Function exponential;
  int64_t tile;
  bool windowed, computes;
};

struct TwoPass : Words {
  TwoPass(const Call &call, Words words);
  void evaluateQuery(int64_t row, int64_t head) const;

  const Call &call;
  int64_t rows, heads, kvHeads, headDim;
  float scale;
  Matrix query, out;
};

Words::Words(const Call &call, Fields &fields)
    : queryRounding(static_cast<Rounding>(fields.choose("q_compute", {"fp32", "fp16_rounded"}))),
      scalesQuery(fields.choose("score_scale", {"fp32_mul_after_dot", "fp32_mul_of_query"}) == 1),
      dot(call, fields, "score_reduction", Summed::products),
      tileSum(call, fields, "tile_sum", Summed::termsOfTile),
      exponential(readFunction(call, fields, "exponential")), tile(fields.count("partition.tile")) {
  fields.require("rescale", "two_pass_value_dots");
  fields.require("k_compute", "fp16");
  fields.require("v_compute", "fp16");
  fields.require("score_accumulator", "fp32");
  fields.require("soft_cap", "none");
  fields.require("head_grouping", "consecutive");
  fields.attribute("mask");
  windowed = fields.choose("mask", {"causal", "sliding_window"}) == 1;
  fields.require("unseen", "skipped");
  fields.require("softmax_statistics", "fp64");
  fields.require("multiply_add", "fma");
  fields.require("value_accumulator", "fp32");
  fields.require("partition.kind", "none");
  fields.require("sinks", "none");
  fields.require("normalization", "fp16_rounded_weights_before_values");
  fields.requireIeee();
  if (tileSum.places() > 0 && tileSum.places() < tile)
    fields.fail("partition.tile", "field 'partition.tile' is " + std::to_string(tile) +
                                      ", but 'tile_sum' has places for " +
                                      std::to_string(tileSum.places()) + " terms");
  fields.requireScalars({"q", "out"});
  fields.requireStorage("kv", "f16");
  computes = fields.checkAllRead();
}

TwoPass::TwoPass(const Call &call, Words words)
    : Words(std::move(words)), call(call), rows(dimension(call, "rows")),
      heads(dimension(call, "heads")), kvHeads(dimension(call, "kv_heads")),
      headDim(dimension(call, "head_dim")), scale(number(call, "scale")),
      query(matrix(call, "q", rows, heads * headDim)),
      out(matrix(call, "out", rows, heads * headDim)) {
  if (kvState(call, kvHeads, headDim).storage != "f16" || heads % kvHeads != 0)
    throw ReferenceError("K and V are f16, and heads are a multiple of KV heads");
  if (windowed != (call.kv->window > 0))
    throw ReferenceError("field 'mask' and the window of the KV group contradict each other");
  if (call.schedule.workers < 1)
    throw ReferenceError("a call has at least one worker");
  if (call.numbers.contains("soft_cap"))
    throw ReferenceError("number 'soft_cap' is given, but field 'soft_cap' is 'none'");
  if (optionalOperand(call, "sinks")) // which the contract does not have
    matrix(call, "sinks", 1, heads);
}

void TwoPass::evaluateQuery(int64_t row, int64_t head) const {
  const KvState::Sequence &sequence = call.kv->sequences.at(call.rows.sequence.at(row));
  const int64_t end = call.rows.position.at(row) + 1; // the positions up to the query's own
  const int64_t begin = call.kv->window > 0 ? std::max<int64_t>(0, end - call.kv->window) : 0;
  auto stored = [&](const std::vector<std::byte> &plane, int64_t position, int64_t i) {
    const int64_t at = (position * kvHeads + head / (heads / kvHeads)) * headDim + i;
    if (static_cast<size_t>(at * 2) >= plane.size())
      throw ReferenceError("position " + std::to_string(position) + " was never stored");
    return readScalar("f16", plane.data(), at);
  };
  std::vector<float> weight(static_cast<size_t>(end), 0.0f); // by position; 0 where it is not seen
  float maximum = -infinity;
  for (int64_t position = begin; position < end; ++position) {
    auto q = [&](int64_t i) {
      const float element = query.get(row, head * headDim + i);
      return rounded(queryRounding, scalesQuery ? element * scale : element);
    };
    auto k = [&](int64_t i) { return stored(sequence.k, position, i); };
    const float product = dot.products(headDim, q, k, dot.unitElements());
    weight[position] = scalesQuery ? product : product * scale;
    maximum = weight[position] > maximum ? weight[position] : maximum;
  }
  double sum = 0;
  for (int64_t first = begin / tile * tile; first < end; first += tile) {
    for (int64_t position = std::max(first, begin); position < std::min(first + tile, end);
         ++position)
      weight[position] = exponential(weight[position] - maximum);
    const float part = tileSum.terms(std::min(tile, end - first),
                                     [&](int64_t slot) { return weight[first + slot]; });
    sum = sum + static_cast<double>(part);
  }
  const auto inverse = static_cast<float>(1.0 / sum);
  for (int64_t position = begin; position < end; ++position)
    weight[position] = rounded(Rounding::binary16, weight[position] * inverse);
  for (int64_t i = 0; i < headDim; ++i) {
    // A position that is not seen is a term of weight 0 and is not read.
    auto v = [&](int64_t position) {
      return position < begin ? 0.0f : stored(sequence.v, position, i);
    };
    auto w = [&](int64_t position) { return weight[position]; };
    out.set(row, head * headDim + i, dot.products(end, w, v, dot.unitElements()));
  }
}

} // namespace

void evaluateTwoPassAttention(Call &call) {
  Fields fields(call, "attention");
  Words words(call, fields);
  if (!words.computes)
    return;
  const TwoPass attention(call, std::move(words));
  for (int64_t row = 0; row < attention.rows; ++row)
    for (int64_t head = 0; head < attention.heads; ++head)
      attention.evaluateQuery(row, head);
}

} // namespace writ::reference
