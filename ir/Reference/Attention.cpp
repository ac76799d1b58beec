//===- Attention.cpp - softmax over the KV state --------------------------===//
#include "ir/Reference/AttentionWords.h"
#include "ir/Reference/Entries.h"
#include "ir/Reference/KvStore.h"
#include "ir/Reference/Scalar.h"

#include <algorithm>

namespace writ::reference {
namespace {

/// m, l and o of one range of keys: their largest score, the sum of exponentials, the weighted
/// values. A range without a key has no partial.
struct Partial {
  float maximum = -infinity;
  float sum = 0;
  std::vector<float> values;
};

/// Positions [begin, end).
struct Range {
  int64_t begin, end;
};

/// K and V of one sequence as binary32 values, [position][kv_head][head_dim].
struct Planes {
  std::vector<float> k, v;
};

struct Attention {
  Attention(const Call &call, AttentionWords words);
  void evaluateQuery(int64_t row, int64_t head) const;

private:
  std::vector<Range> rangesOf(int64_t first, int64_t length) const;
  Partial online(int64_t row, int64_t head, Range range) const;
  Partial twoPasses(int64_t row, int64_t head, Range range) const;
  void merge(Partial &into, const Partial &next) const;
  void mergeSink(Partial &into, float sink) const;

  float score(int64_t row, int64_t head, int64_t position) const;
  /// o = weight * v + o for one key.
  void addValue(std::vector<float> &values, float weight, int64_t row, int64_t head,
                int64_t position) const;
  float stored(const std::vector<float> &plane, int64_t head, int64_t position, int64_t i) const;
  const Planes &sequence(int64_t row) const { return planes.at(call.rows.sequence.at(row)); }
  float exponential(float x) const { return words.exponential(x); }

  const Call &call;
  const AttentionWords words;

public:
  const int64_t rows, heads;

private:
  const int64_t kvHeads, headDim;
  const float scale;
  const float cap; ///< unused without the word
  const Matrix query, out;
  const KvState &kv;
  std::vector<Planes> planes; ///< by sequence
  std::vector<float> sinks;   ///< by head
};

Attention::Attention(const Call &call, AttentionWords given)
    : call(call), words(std::move(given)), rows(dimension(call, "rows")),
      heads(dimension(call, "heads")), kvHeads(dimension(call, "kv_heads")),
      headDim(dimension(call, "head_dim")), scale(number(call, "scale")),
      cap(words.cap ? number(call, "soft_cap") : 0),
      query(matrix(call, "q", rows, heads * headDim)),
      out(matrix(call, "out", rows, heads * headDim)), kv(kvState(call, kvHeads, headDim)) {
  if (heads % kvHeads != 0)
    throw ReferenceError("heads are a multiple of KV heads");
  if (call.schedule.workers < 1)
    throw ReferenceError("a call has at least one worker");
  if (!words.cap && call.numbers.contains("soft_cap"))
    throw ReferenceError("number 'soft_cap' is given, but field 'soft_cap' is 'none'");
  // An operand that the contract does not have is an error.
  if (const Operand *logits = optionalOperand(call, "sinks"); words.hasSinks || logits) {
    const Matrix row = matrix(call, "sinks", 1, heads);
    for (int64_t head = 0; head < heads; ++head)
      sinks.push_back(row.get(0, head));
  }
  for (const KvState::Sequence &stored : kv.sequences)
    planes.push_back({planeValues(kv, stored.k), planeValues(kv, stored.v)});
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
  const float product = words.dot.products(
      headDim,
      [&](int64_t i) {
        const float element = query.get(row, head * headDim + i);
        return rounded(words.query, words.scalesQuery ? element * scale : element);
      },
      [&](int64_t i) { return rounded(words.key, stored(sequence(row).k, head, position, i)); },
      words.dot.unitElements());
  const float dot = rounded(words.score, product);
  const float score = words.scalesQuery ? dot : rounded(words.score, dot * scale);
  if (!words.cap)
    return score;
  const float quotient = score / cap;
  return cap * (*words.cap)(quotient);
}

void Attention::addValue(std::vector<float> &values, float weight, int64_t row, int64_t head,
                         int64_t position) const {
  for (int64_t i = 0; i < headDim; ++i) {
    const float v = rounded(words.value, stored(sequence(row).v, head, position, i));
    values[i] = rounded(words.accumulator, multiplyAdd(words.valueForm, weight, v, values[i]));
  }
}

/// Tiles at absolute positions, or key by key: a tile of one.
Partial Attention::online(int64_t row, int64_t head, Range range) const {
  Partial partial;
  partial.values.assign(headDim, 0.0f);
  for (int64_t first = range.begin; first < range.end;) {
    const int64_t tileBegin = first / words.tile * words.tile;
    const int64_t tileEnd = std::min(range.end, tileBegin + words.tile);
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
    const auto slot = [&](int64_t i) {
      return i < first - tileBegin ? 0.0f : weights[i - (first - tileBegin)];
    };
    const float sum =
        words.weightSum ? words.weightSum->terms(tileEnd - tileBegin, slot) : weights[0];
    partial.sum = multiplyAdd(words.rescaleForm, partial.sum, alpha, sum);
    for (float &o : partial.values)
      o = rounded(words.accumulator, o * alpha);
    for (int64_t position = first; position < tileEnd; ++position)
      addValue(partial.values, weights[position - first], row, head, position);
    partial.maximum = maximum;
    first = tileEnd;
  }
  return partial;
}

Partial Attention::twoPasses(int64_t row, int64_t head, Range range) const {
  Partial partial;
  partial.values.assign(headDim, 0.0f);
  std::vector<float> weights;
  for (int64_t position = range.begin; position < range.end; ++position) {
    weights.push_back(score(row, head, position));
    partial.maximum = weights.back() > partial.maximum ? weights.back() : partial.maximum;
  }
  for (float &weight : weights)
    weight = exponential(weight - partial.maximum);
  partial.sum = words.weightSum->terms(static_cast<int64_t>(weights.size()),
                                       [&](int64_t i) { return weights[i]; });
  const float inverse = 1.0f / partial.sum;
  for (int64_t position = range.begin; position < range.end; ++position) {
    float weight = weights[position - range.begin];
    if (words.normalizesWeights)
      weight = rounded(Rounding::bfloat16, weight * inverse);
    addValue(partial.values, weight, row, head, position);
  }
  return partial;
}

void Attention::merge(Partial &into, const Partial &next) const {
  const float maximum = next.maximum > into.maximum ? next.maximum : into.maximum;
  const float a = exponential(into.maximum - maximum);
  const float b = exponential(next.maximum - maximum);
  const float sum = next.sum * b;
  into.sum = multiplyAdd(words.rescaleForm, into.sum, a, sum);
  for (int64_t i = 0; i < headDim; ++i) {
    const float value = next.values[i] * b;
    into.values[i] = multiplyAdd(words.rescaleForm, into.values[i], a, value);
  }
  into.maximum = maximum;
}

/// A score that has no value.
void Attention::mergeSink(Partial &into, float sink) const {
  const float maximum = sink > into.maximum ? sink : into.maximum;
  const float a = exponential(into.maximum - maximum);
  const float b = exponential(sink - maximum);
  into.sum = multiplyAdd(words.rescaleForm, into.sum, a, b);
  for (float &o : into.values)
    o = o * a;
  into.maximum = maximum;
}

/// The positions [first, length), in ranges that each give a partial.
std::vector<Range> Attention::rangesOf(int64_t first, int64_t length) const {
  if (words.partition == Partition::none || length < words.threshold)
    return {{first, length}};
  const bool byWorkers = words.partition == Partition::chunksByWorkers;
  const int64_t workers = call.schedule.workers;
  const int64_t extent = byWorkers ? (length - first + workers - 1) / workers : words.chunk;
  // Chunks stand at absolute positions; the workers' ranges begin where the query's keys do.
  const int64_t origin = byWorkers ? first : first / extent * extent;
  std::vector<Range> ranges;
  for (int64_t begin = origin; begin < length; begin += extent)
    ranges.push_back({std::max(begin, first), std::min(begin + extent, length)});
  return ranges;
}

void Attention::evaluateQuery(int64_t row, int64_t head) const {
  const int64_t length = call.rows.position.at(row) + 1; // the positions up to the query's own
  const int64_t first = kv.window > 0 ? std::max<int64_t>(0, length - kv.window) : 0;
  Partial total;
  for (const Range range : rangesOf(first, length)) {
    Partial next = words.softmax == Softmax::twoPasses ? twoPasses(row, head, range)
                                                       : online(row, head, range);
    for (float &o : next.values)
      o = length < words.threshold ? o : rounded(words.partial, o);
    if (total.values.empty())
      total = std::move(next);
    else
      merge(total, next);
  }
  if (words.hasSinks)
    mergeSink(total, sinks.at(head));
  const float inverse = 1.0f / total.sum;
  for (int64_t i = 0; i < headDim; ++i)
    out.set(row, head * headDim + i,
            words.normalizesWeights ? total.values[i] : total.values[i] * inverse);
}

} // namespace

void evaluateAttention(Call &call) {
  if (call.contract->value("rescale", "") == "two_pass_value_dots")
    return evaluateTwoPassAttention(call);
  Fields fields(call, "attention");
  AttentionWords words(call, fields);
  if (!words.computes)
    return;
  const Attention attention(call, std::move(words));
  for (int64_t row = 0; row < attention.rows; ++row)
    for (int64_t head = 0; head < attention.heads; ++head)
      attention.evaluateQuery(row, head);
}

} // namespace writ::reference
