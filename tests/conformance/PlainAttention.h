//===- PlainAttention.h - softmax over keys, one loop after another --------===//
//
// In binary64, with the op's cap and sinks: a check of plausibility, whose tolerance its caller
// gives. The bounds are judged with MPFR.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/Reference/Storage.h"
#include "tests/conformance/Problem.h"

#include <algorithm>
#include <cmath>

namespace writ::test {

/// One query head's result: `window` keys up to the query's own, 0 for all of them.
inline std::vector<double> plainAttention(const Problem &problem, int64_t row, int64_t head,
                                          int64_t window) {
  const auto &call = problem.call;
  const int64_t dim = call.dimensions.at("head_dim"), heads = call.dimensions.at("heads");
  const int64_t end = call.rows.position[row] + 1;
  const int64_t first = window ? std::max<int64_t>(0, end - window) : 0;
  const auto &sequence = problem.kv.sequences[call.rows.sequence[row]];
  const auto stored = [&](const std::vector<std::byte> &plane, int64_t key, int64_t i) {
    if (problem.kv.storage != "q8_0")
      return double(reference::readScalar(problem.kv.storage, plane.data(), key * dim + i));
    const reference::Block block = reference::readBlock("q8_0", plane.data(), (key * dim + i) / 32);
    return double(block.scale) * block.code[static_cast<size_t>(i % 32)];
  };
  std::vector<double> value(static_cast<size_t>(dim));
  double sum = 0;
  if (call.operands.contains("sinks"))
    sum = std::exp(problem.element("sinks", head));
  for (int64_t key = first; key < end; ++key) {
    double score = 0;
    for (int64_t i = 0; i < dim; ++i)
      score +=
          double(problem.element("q", (row * heads + head) * dim + i)) * stored(sequence.k, key, i);
    score *= call.numbers.at("scale");
    if (const auto cap = call.numbers.find("soft_cap"); cap != call.numbers.end())
      score = cap->second * std::tanh(score / cap->second);
    const double weight = std::exp(score);
    sum += weight;
    for (int64_t i = 0; i < dim; ++i)
      value[static_cast<size_t>(i)] += weight * stored(sequence.v, key, i);
  }
  for (double &v : value)
    v /= sum;
  return value;
}

} // namespace writ::test
