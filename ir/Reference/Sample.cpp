//===- Sample.cpp - drawing a token ---------------------------------------===//
#include "ir/Reference/Entries.h"
#include "ir/Reference/Function.h"
#include "ir/Reference/Operands.h"
#include "ir/Reference/Philox.h"
#include "ir/Reference/Reduction.h"
#include "ir/Reference/Scalar.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace writ::reference {

/// Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key,
                                   int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const uint64_t product0 = uint64_t(0xD2511F53) * counter[0];
    const uint64_t product1 = uint64_t(0xCD9E8D57) * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(product0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

namespace {

struct Candidate {
  int32_t id;
  float logit;
};

struct Sampler {
  Sampler(const Call &call, Fields &fields)
      : exponential(readFunction(call, fields, "function")),
        probabilitySum(call, fields, "probability_sum", Summed::terms) {
    fields.require("compute", "fp32");
    fields.require("penalty", "divide_positive_multiply_other");
    fields.require("candidate_order", "descending_ties_lowest_id");
    fields.require("truncation", "top_k_top_p_min_p");
    fields.require("probability", "exp_of_difference_to_first");
    fields.require("top_p", "shortest_prefix_reaching_product");
    fields.require("min_p", "at_least_product_with_first");
    fields.require("temperature", "fp32_divide_after_truncation");
    fields.require("random", "philox4x32_10");
    fields.require("uniform", "first_word_high24");
    fields.require("draw", "first_running_sum_above_product");
    fields.requireIeee("rejected", "rejected");
    fields.requireScalars({"logits"});
    fields.requireStorage("token", "i32");
    computes = fields.checkAllRead();
  }

  int32_t draw(std::vector<float> logits, const SampleRequest &request) const;
  void truncate(std::vector<Candidate> &kept, const SampleRequest &request) const;
  std::vector<float> probabilities(const std::vector<Candidate> &kept) const;
  float sumOfFirst(const std::vector<float> &p, size_t count) const {
    return probabilitySum.terms(static_cast<int64_t>(count), [&](int64_t i) { return p[i]; });
  }

  Function exponential;
  Reduction probabilitySum;
  bool computes; ///< false where the contract is only read
};

std::vector<float> Sampler::probabilities(const std::vector<Candidate> &kept) const {
  std::vector<float> p;
  for (const Candidate &candidate : kept)
    p.push_back(exponential(candidate.logit - kept[0].logit));
  return p;
}

/// The first count whose sum of probabilities satisfies `enough`, else all.
template <typename Enough> size_t shortestPrefix(const std::vector<float> &p, Enough enough) {
  float sum = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    sum = sum + p[i]; // the ascending order of `probability_sum`, step by step
    if (enough(sum))
      return i + 1;
  }
  return p.size();
}

void Sampler::truncate(std::vector<Candidate> &kept, const SampleRequest &request) const {
  if (request.topK > 0 && request.topK < static_cast<int64_t>(kept.size()))
    kept.resize(request.topK);
  const std::vector<float> p = probabilities(kept);
  size_t count = kept.size();
  if (request.topP < 1) {
    const float wanted = request.topP * sumOfFirst(p, p.size());
    count = shortestPrefix(p, [&](float sum) { return sum >= wanted; });
  }
  std::vector<Candidate> result;
  const float least = request.minP * p[0];
  for (size_t i = 0; i < count; ++i)
    if (!(request.minP > 0) || p[i] >= least)
      result.push_back(kept[i]);
  kept = std::move(result);
}

int32_t Sampler::draw(std::vector<float> logits, const SampleRequest &request) const {
  for (float logit : logits)
    if (!(std::fabs(logit) < infinity))
      return -1;
  if (request.recent.size() > 64)
    throw ReferenceError("more than 64 recent tokens");
  for (int32_t token : std::set<int32_t>(request.recent.begin(), request.recent.end())) {
    float &logit = logits.at(token);
    logit = logit > 0 ? logit / request.repeatPenalty : logit * request.repeatPenalty;
  }
  std::vector<Candidate> kept;
  for (size_t id = 0; id < logits.size(); ++id)
    kept.push_back({static_cast<int32_t>(id), logits[id]});
  std::stable_sort(kept.begin(), kept.end(),
                   [](const Candidate &a, const Candidate &b) { return a.logit > b.logit; });
  if (request.temperature == 0)
    return kept[0].id;
  truncate(kept, request);
  for (Candidate &candidate : kept)
    candidate.logit = candidate.logit / request.temperature;
  const std::vector<float> p = probabilities(kept);
  const auto half = [](uint64_t word, int shift) { return static_cast<uint32_t>(word >> shift); };
  const std::array<uint32_t, 4> random =
      philox4x32({half(request.position, 0), half(request.position, 32), half(request.stream, 0),
                  half(request.stream, 32)},
                 {half(request.seed, 0), half(request.seed, 32)}, 10);
  const float uniform = static_cast<float>(random[0] >> 8) * 0x1p-24f;
  const float target = uniform * sumOfFirst(p, p.size());
  return kept[shortestPrefix(p, [&](float sum) { return sum > target; }) - 1].id;
}

} // namespace

void evaluateSample(Call &call) {
  Fields fields(call, "sample");
  const Sampler sampler(call, fields);
  if (!sampler.computes)
    return;
  const int64_t rows = dimension(call, "rows"), vocabulary = dimension(call, "vocabulary");
  const Matrix logits = matrix(call, "logits", rows, vocabulary);
  const Matrix token = matrix(call, "token", rows, 1);
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<float> values;
    for (int64_t i = 0; i < vocabulary; ++i)
      values.push_back(logits.get(row, i));
    const int32_t drawn = sampler.draw(std::move(values), call.samples.at(row));
    std::copy_n(reinterpret_cast<const std::byte *>(&drawn), sizeof(drawn), token.row(row));
  }
}

} // namespace writ::reference
