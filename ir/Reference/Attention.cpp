//===- Attention.cpp - the KV state and softmax over it -------------------===//
#include "ir/Reference/Entries.h"
#include "ir/Reference/Function.h"
#include "ir/Reference/Operands.h"
#include "ir/Reference/Reduction.h"
#include "ir/Reference/Scalar.h"

#include <algorithm>

namespace writ::reference {
namespace {

KvState &kvState(const Call &call, int64_t kvHeads, int64_t headDim) {
  const std::string stated = call.contract->at("operands").at("kv").at("storage");
  if (!call.kv || call.kv->storage != stated || call.kv->kvHeads != kvHeads ||
      call.kv->headDim != headDim)
    throw ReferenceError("the KV state is missing, or not of the op's shape and storage");
  return *call.kv;
}

float roundedToBinary16(float value) {
  return floatOfBinary16(binary16OfFloat(value));
}

/// The words of a `…_compute` field for an operand.
class Compute {
public:
  Compute(Fields &fields, const std::string &field)
      : rounds(fields.choose(field, {"fp32", "fp16", "fp16_rounded"}) == 2) {}
  float operator()(float stored) const { return rounds ? roundedToBinary16(stored) : stored; }

private:
  bool rounds;
};

/// m, l and o of one range of keys: their largest score, the sum of exponentials, the weighted
/// values. A range without a key has no partial.
struct Partial {
  float maximum = -infinity;
  float sum = 0;
  std::vector<float> values;
};

/// K and V of one sequence as binary32 values, [position][kv_head][head_dim].
struct Planes {
  std::vector<float> k, v;
};

struct Attention {
  Attention(const Call &call, Fields &fields);
  Partial range(int64_t row, int64_t head, int64_t begin, int64_t end) const;
  void merge(Partial &into, const Partial &next) const;
  void evaluateQuery(int64_t row, int64_t head) const;

  float score(int64_t row, int64_t head, int64_t position) const;
  std::vector<float> decode(const std::vector<std::byte> &plane) const;
  float stored(const std::vector<float> &plane, int64_t head, int64_t position, int64_t i) const;
  const Planes &sequence(int64_t row) const { return planes.at(call.rows.sequence.at(row)); }
  float updated(float value) const { return roundsValues ? roundedToBinary16(value) : value; }

  const Call &call;
  Compute q, k, v;
  Reduction dot, tileSum;
  Function exponential;
  MultiplyAdd form;
  bool roundsValues, partitioned;
  int64_t threshold, tile, chunk;
  int64_t rows, heads, kvHeads, headDim;
  float scale;
  Matrix query, out;
  KvState *kv;
  std::vector<Planes> planes; ///< by sequence
};

Attention::Attention(const Call &call, Fields &fields)
    : call(call), q(fields, "q_compute"), k(fields, "k_compute"), v(fields, "v_compute"),
      dot(call, fields, "score_reduction"), tileSum(call, fields, "tile_sum"),
      exponential(readFunction(call, fields, "exponential")),
      form(static_cast<MultiplyAdd>(fields.choose("multiply_add", {"fma", "mul_add"}))),
      roundsValues(fields.choose("value_accumulator", {"fp32", "fp16_rounded_each_update"}) == 1),
      partitioned(fields.choose("partition.kind", {"none", "kv_chunks_fixed"}) == 1),
      threshold(fields.count("partition.threshold")), tile(fields.count("partition.tile")),
      chunk(fields.count("partition.chunk")), rows(dimension(call, "rows")),
      heads(dimension(call, "heads")), kvHeads(dimension(call, "kv_heads")),
      headDim(dimension(call, "head_dim")), scale(number(call, "scale")),
      query(matrix(call, "q", rows, heads * headDim)),
      out(matrix(call, "out", rows, heads * headDim)), kv(&kvState(call, kvHeads, headDim)) {
  fields.require("score_accumulator", "fp32");
  fields.require("score_scale", "fp32_mul_after_dot");
  fields.require("soft_cap", "none");
  fields.require("head_grouping", "consecutive");
  fields.attribute("mask");
  if (fields.choose("mask", {"causal", "sliding_window"}) != size_t(kv->window > 0))
    throw ReferenceError("field 'mask' and the window of the KV group contradict each other");
  fields.require("unseen", "skipped");
  fields.require("softmax_statistics", "fp32");
  fields.require("rescale", "fp32_exp_of_maximum_difference");
  fields.require("partial_storage", "fp32");
  if (fields.choose("partial_merge", {"none", "fp32_chunk_order"}) != size_t(partitioned))
    throw ReferenceError("fields 'partial_merge' and 'partition.kind' contradict each other");
  fields.require("normalization", "fp32_mul_reciprocal");
  fields.requireIeee();
  fields.checkAllRead();
  if (heads % kvHeads != 0 || chunk % tile != 0)
    throw ReferenceError("heads are a multiple of KV heads, a chunk is a multiple of a tile");
  for (const KvState::Sequence &stored : kv->sequences)
    planes.push_back({decode(stored.k), decode(stored.v)});
}

/// The values of a plane, once for all queries.
std::vector<float> Attention::decode(const std::vector<std::byte> &plane) const {
  const int64_t elements =
      static_cast<int64_t>(plane.size()) / rowBytes(kv->storage, headDim) * headDim;
  std::vector<float> values;
  for (int64_t i = 0; i < elements; ++i)
    values.push_back(readScalar(kv->storage, plane.data(), i));
  return values;
}

/// Element i of a K or V vector; `head` counts query heads, which share a KV head in groups.
float Attention::stored(const std::vector<float> &plane, int64_t head, int64_t position,
                        int64_t i) const {
  const int64_t kvHead = head / (heads / kvHeads);
  const size_t index = static_cast<size_t>((position * kvHeads + kvHead) * headDim + i);
  if (index >= plane.size())
    throw ReferenceError("position " + std::to_string(position) + " was never stored");
  return plane[index];
}

float Attention::score(int64_t row, int64_t head, int64_t position) const {
  const float product = dot.products(
      headDim, [&](int64_t i) { return q(query.get(row, head * headDim + i)); },
      [&](int64_t i) { return k(stored(sequence(row).k, head, position, i)); }, dot.unitElements());
  return product * scale;
}

/// The keys [begin, end) in tiles at absolute positions.
Partial Attention::range(int64_t row, int64_t head, int64_t begin, int64_t end) const {
  Partial partial;
  partial.values.assign(headDim, 0.0f);
  for (int64_t first = begin; first < end;) {
    const int64_t tileEnd = std::min(end, (first / tile + 1) * tile);
    const int64_t tileBegin = first / tile * tile;
    std::vector<float> scores;
    float maximum = partial.maximum;
    for (int64_t position = first; position < tileEnd; ++position) {
      scores.push_back(score(row, head, position));
      maximum = scores.back() > maximum ? scores.back() : maximum;
    }
    const float alpha = exponential(partial.maximum - maximum);
    std::vector<float> weights;
    for (float s : scores)
      weights.push_back(exponential(s - maximum));
    // A key has the slot of its position in the tile; the slots before `first` are unseen.
    const float sum = tileSum.terms(tileEnd - tileBegin, [&](int64_t slot) {
      return slot < first - tileBegin ? 0.0f : weights[slot - (first - tileBegin)];
    });
    partial.sum = multiplyAdd(form, partial.sum, alpha, sum);
    for (int64_t i = 0; i < headDim; ++i) {
      float o = updated(partial.values[i] * alpha);
      for (int64_t position = first; position < tileEnd; ++position)
        o = updated(multiplyAdd(form, weights[position - first],
                                v(stored(sequence(row).v, head, position, i)), o));
      partial.values[i] = o;
    }
    partial.maximum = maximum;
    first = tileEnd;
  }
  return partial;
}

void Attention::merge(Partial &into, const Partial &next) const {
  const float maximum = next.maximum > into.maximum ? next.maximum : into.maximum;
  const float a = exponential(into.maximum - maximum);
  const float b = exponential(next.maximum - maximum);
  const float sum = next.sum * b;
  into.sum = multiplyAdd(form, into.sum, a, sum);
  for (int64_t i = 0; i < headDim; ++i) {
    const float value = next.values[i] * b;
    into.values[i] = multiplyAdd(form, into.values[i], a, value);
  }
  into.maximum = maximum;
}

void Attention::evaluateQuery(int64_t row, int64_t head) const {
  const int64_t length = call.rows.position.at(row) + 1; // the positions up to the query's own
  const int64_t first = kv->window > 0 ? std::max<int64_t>(0, length - kv->window) : 0;
  const int64_t extent = partitioned && length >= threshold ? chunk : length;
  int64_t end = std::min(length, (first / extent + 1) * extent); // chunks at absolute positions
  Partial total = range(row, head, first, end);
  for (int64_t begin = end; begin < length; begin = end) {
    end = std::min(length, begin + extent);
    merge(total, range(row, head, begin, end));
  }
  const float inverse = 1.0f / total.sum;
  for (int64_t i = 0; i < headDim; ++i)
    out.set(row, head * headDim + i, total.values[i] * inverse);
}

} // namespace

void evaluateAttention(Call &call) {
  Fields fields(call, "attention");
  const Attention attention(call, fields);
  for (int64_t row = 0; row < attention.rows; ++row)
    for (int64_t head = 0; head < attention.heads; ++head)
      attention.evaluateQuery(row, head);
}

void evaluateKvStore(Call &call) {
  Fields fields(call, "kv_store");
  fields.require("rounding", "nearest_even");
  fields.requireIeee("copied", "copied");
  fields.checkAllRead();

  const int64_t rows = dimension(call, "rows"), kvHeads = dimension(call, "kv_heads");
  const int64_t headDim = dimension(call, "head_dim"), width = kvHeads * headDim;
  const Matrix k = matrix(call, "k", rows, width), v = matrix(call, "v", rows, width);
  KvState &kv = kvState(call, kvHeads, headDim);
  for (int64_t row = 0; row < rows; ++row) {
    const size_t index = static_cast<size_t>(call.rows.sequence.at(row));
    if (index >= kv.sequences.size())
      kv.sequences.resize(index + 1);
    KvState::Sequence &sequence = kv.sequences[index];
    const int64_t bytes = rowBytes(kv.storage, headDim) * kvHeads;
    const size_t offset = static_cast<size_t>(call.rows.position.at(row) * bytes);
    for (auto *plane : {&sequence.k, &sequence.v})
      plane->resize(std::max(plane->size(), offset + bytes));
    for (int64_t i = 0; i < width; ++i) {
      writeScalar(kv.storage, sequence.k.data() + offset, i, k.get(row, i));
      writeScalar(kv.storage, sequence.v.data() + offset, i, v.get(row, i));
    }
  }
}

} // namespace writ::reference
