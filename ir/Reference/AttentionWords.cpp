//===- AttentionWords.cpp - the arithmetic that an attention contract names ===//
#include "ir/Reference/AttentionWords.h"

#include "ir/Reference/KvStore.h"

namespace writ::reference {
namespace {

Rounding ofOperand(Fields &fields, const char *field) {
  // The first two widen exactly what is stored.
  return fields.choose(field, {"fp32", "fp16", "fp16_rounded"}) == 2 ? Rounding::binary16
                                                                     : Rounding::none;
}

Rounding oneOf(Fields &fields, const char *field, const char *plain, const char *rounding,
               Rounding what) {
  return fields.choose(field, {plain, rounding}) == 1 ? what : Rounding::none;
}

[[noreturn]] void contradict(const Fields &fields, const char *a, const char *b) {
  fields.fail(b, std::string("fields '") + a + "' and '" + b + "' contradict each other");
}

} // namespace

AttentionWords::AttentionWords(const Call &call, Fields &fields)
    : query(ofOperand(fields, "q_compute")), key(ofOperand(fields, "k_compute")),
      value(ofOperand(fields, "v_compute")), dot(call, fields, "score_reduction", Summed::products),
      exponential(readFunction(call, fields, "exponential")),
      softmax(static_cast<Softmax>(
          fields.choose("rescale", {"fp32_exp_of_maximum_difference",
                                    "fp32_exp_of_maximum_difference_each_key", "fp32_two_pass"}))),
      valueForm(static_cast<MultiplyAdd>(fields.choose("multiply_add", {"fma", "mul_add"}))),
      accumulator(oneOf(fields, "value_accumulator", "fp32", "fp16_rounded_each_update",
                        Rounding::binary16)),
      partition(static_cast<Partition>(
          fields.choose("partition.kind", {"none", "kv_chunks_fixed", "kv_chunks_by_workers"}))),
      hasSinks(fields.choose("sinks", {"none", "fp32_logit_after_keys"}) == 1),
      normalizesWeights(fields.choose("normalization", {"fp32_mul_reciprocal",
                                                        "bf16_weights_mul_reciprocal"}) == 1) {
  const size_t scaling = fields.choose(
      "score_scale", {"fp32_mul_after_dot", "bf16_mul_after_bf16_dot", "fp32_mul_of_query"});
  score = scaling == 1 ? Rounding::bfloat16 : Rounding::none;
  scalesQuery = scaling == 2;
  fields.require("score_accumulator", "fp32");
  if (fields.choose("soft_cap", {"none", "fp32_cap_times_tanh_of_quotient"}) == 1)
    cap = readFunction(call, fields, "soft_cap_function");
  fields.require("head_grouping", "consecutive");
  fields.attribute("mask");
  const bool windowed = fields.choose("mask", {"causal", "sliding_window"}) == 1;
  if (call.kv && windowed != (call.kv->window > 0))
    throw ReferenceError("field 'mask' and the window of the KV group contradict each other");
  fields.require("unseen", "skipped");
  fields.require("softmax_statistics", "fp32");
  if (softmax != Softmax::eachKey)
    weightSum.emplace(call, fields, "tile_sum",
                      softmax == Softmax::tiles ? Summed::termsOfTile : Summed::terms);
  if (softmax == Softmax::tiles)
    tile = fields.count("partition.tile");
  if (partition != Partition::none) {
    threshold = fields.count("partition.threshold");
    partial = oneOf(fields, "partial_storage", "fp32", "fp16", Rounding::binary16);
    fields.require("partial_merge", "fp32_chunk_order");
  }
  if (partition == Partition::fixedChunks)
    chunk = fields.count("partition.chunk");
  if (softmax != Softmax::twoPasses || partition != Partition::none || hasSinks)
    rescaleForm =
        static_cast<MultiplyAdd>(fields.choose("rescale_multiply_add", {"fma", "mul_add"}));
  fields.requireIeee();
  if (normalizesWeights && softmax != Softmax::twoPasses)
    contradict(fields, "normalization", "rescale");
  if (normalizesWeights && (partition != Partition::none || hasSinks))
    contradict(fields, "normalization", partition != Partition::none ? "partition.kind" : "sinks");
  if (partition == Partition::fixedChunks && chunk % tile != 0)
    fields.fail("partition.chunk", "field 'partition.chunk' is " + std::to_string(chunk) +
                                       ", no multiple of 'partition.tile', which is " +
                                       std::to_string(tile));
  if (softmax == Softmax::tiles && weightSum->places() > 0 && weightSum->places() < tile)
    fields.fail("partition.tile", "field 'partition.tile' is " + std::to_string(tile) +
                                      ", but 'tile_sum' has places for " +
                                      std::to_string(weightSum->places()) + " terms");
  fields.requireScalars({"q", "out", "sinks"});
  requireReadableKv(fields);
  computes = fields.checkAllRead();
}

} // namespace writ::reference
