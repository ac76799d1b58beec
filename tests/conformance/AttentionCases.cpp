//===- AttentionCases.cpp - what ggml and PyTorch are asked ---------------===//
#include "tests/conformance/AttentionCases.h"

#include "ir/Reference/Storage.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>
#include <stdexcept>

namespace writ::test {
namespace {

constexpr int kSteps = 16; ///< scores of exactExponentials are 0 to 15 steps below the largest

/// A step between scores for which the contract's exponential of each number of steps is the
/// correctly rounded one.
float stepBetweenScores(const Problem &problem) {
  const std::string exponential = problem.contract["exponential"];
  for (int step = 20; step < 400; ++step) {
    const float size = static_cast<float>(step) * 0x1p-7f;
    bool good = true;
    for (int i = 1; i < kSteps && good; ++i) {
      const float x = -size * static_cast<float>(i);
      const double found = reference::evaluateFunction(problem.functions, exponential, x)[0];
      good = found == static_cast<float>(std::exp(double(x)));
    }
    if (good)
      return size;
  }
  throw std::runtime_error("no step has a correctly rounded exponential throughout");
}

/// Keys with one element that is not zero: the score of a key is that element.
void makeScoresExact(Problem &problem, uint64_t seed) {
  const float step = stepBetweenScores(problem);
  const int64_t dim = problem.call.dimensions.at("head_dim");
  const auto &q = problem.call.operands.at("q");
  const float unit = 1 / static_cast<float>(problem.call.numbers.at("scale")); // a power of two
  for (int64_t i = 0; i < q.shape.back(); ++i)
    reference::writeScalar(q.storage, q.bytes.data(), i, i % dim == 0 ? unit : 0);
  Random random(seed);
  auto &plane = problem.kv.sequences[0].k;
  const int64_t elements =
      static_cast<int64_t>(plane.size()) / reference::rowBytes(problem.kv.storage, 1);
  for (int64_t i = 0; i < elements; ++i)
    reference::writeScalar(problem.kv.storage, plane.data(), i,
                           i % dim ? 0 : -step * static_cast<float>(random.below(kSteps)));
}

} // namespace

void PrintTo(const AttentionCase &one, std::ostream *out) {
  *out << one.name;
}

std::vector<AttentionCase> attentionCases() {
  std::vector<AttentionCase> list;
  const auto add = [&](AttentionCase one, const std::string &about) {
    one.name = one.contract + "_" + about + "_keys" + std::to_string(one.keys) + "_workers" +
               std::to_string(one.workers);
    one.seed = static_cast<uint64_t>(1000 + one.keys); // one input for every number of workers
    list.push_back(one);
  };
  for (const bool exact : {true, false}) {
    const std::string about = exact ? "exact" : "plain";
    for (const int64_t keys : {1, 33, 511, 512, 700})
      add({.oracle = "ggml",
           .contract = "f16_online_single_range",
           .keys = keys,
           .workers = keys % 2 ? 1 : 3,
           .queries = keys < 512 ? 1 : 2,
           .exactExponentials = exact},
          about);
    for (const int64_t keys : {511, 512, 513})
      for (const int64_t workers : {1, 2, 3, 7})
        add({.oracle = "ggml",
             .contract = "f16_online_fp32_merge",
             .keys = keys,
             .workers = workers,
             .exactExponentials = exact},
            about);
  }
  for (const int64_t keys :
       {1, 2, 17, 33, 300}) // PyTorch multiplies matrices of few elements otherwise
    add({.oracle = "torch", .contract = "bf16_sdpa", .keys = keys}, "plain");
  return list;
}

std::unique_ptr<Problem> makeProblem(const AttentionCase &one) {
  auto problem = makeProblem(
      one.contract, {{"rows", 1}, {"heads", one.heads}, {"kv_heads", 1}, {"head_dim", one.headDim}},
      {.fill = Fill::plain,
       .seed = one.seed,
       .positions = {static_cast<int32_t>(one.keys - 1)},
       .workers = one.workers});
  if (one.exactExponentials)
    makeScoresExact(*problem, one.seed);
  return problem;
}

std::string inputDigest(const Problem &problem) {
  uint64_t hash = 0xcbf29ce484222325;
  const auto take = [&](std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes)
      hash = (hash ^ std::to_integer<uint64_t>(byte)) * 0x100000001b3;
  };
  take(problem.call.operands.at("q").bytes);
  take(problem.kv.sequences[0].k);
  take(problem.kv.sequences[0].v);
  char text[24];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

} // namespace writ::test
