//===- hard_scores_test.cpp - Q·K beyond what binary16 holds ---------------===//
#include "ir/Reference/Storage.h"
#include "tests/conformance/Problem.h"

#include <cmath>
#include <gtest/gtest.h>

namespace writ::test {
namespace {

constexpr int64_t kDim = 32;
constexpr double kQuery = 800, kBest = 700, kNext = 696; // exact in bfloat16 and binary16

/// Two keys of one head, of which only the first element is not zero; the last query sees both.
std::vector<float> attend(const std::string &contract, double query, double first, double second,
                          std::vector<double> (&values)[2]) {
  auto problem =
      makeProblem(contract, {{"rows", 1}, {"heads", 1}, {"kv_heads", 1}, {"head_dim", kDim}},
                  {.seed = 5, .positions = {1}});
  const reference::Operand &q = problem->call.operands.at("q");
  for (int64_t i = 0; i < kDim; ++i)
    reference::writeScalar(q.storage, q.bytes.data(), i, float(i == 0 ? query : 0));
  auto &sequence = problem->kv.sequences[0];
  for (int64_t key = 0; key < 2; ++key)
    for (int64_t i = 0; i < kDim; ++i) {
      reference::writeScalar(problem->kv.storage, sequence.k.data(), key * kDim + i,
                             float(i == 0 ? (key ? second : first) : 0));
      values[key].push_back(
          double(reference::readScalar(problem->kv.storage, sequence.v.data(), key * kDim + i)));
    }
  problem->evaluate();
  std::vector<float> out;
  for (int64_t i = 0; i < kDim; ++i)
    out.push_back(problem->element("out", i));
  return out;
}

// CASES 12. The products are 560,000 and 556,800, the scores 98,995 and 98,429: a binary16 sum of
// products would be infinite for both, and their softmax NaN.
TEST(F8_HardScores, Cases12_ScoresNearAHundredThousandAreFiniteAndKeepTheirOrder) {
  size_t judged = 0;
  for (const auto &[id, contract] : Data::get().contracts) {
    const nlohmann::json &kv = Data::get().vocabulary["words"]["storage"];
    if (contract["family"] != "attention" ||
        kv[contract["operands"]["kv"]["storage"].get<std::string>()]["kind"] != "scalar")
      continue;
    std::vector<double> best[2], worst[2], equal[2];
    const std::vector<float> high = attend(id, kQuery, kBest, kNext, best);
    const std::vector<float> low = attend(id, -kQuery, kBest, kNext, worst);
    const std::vector<float> same = attend(id, kQuery, kBest, kBest, equal);
    const bool hasSinks = contract["sinks"] != "none";
    const bool capped = contract.contains("soft_cap") && contract["soft_cap"] != "none";
    for (size_t i = 0; i < size_t(kDim); ++i) {
      ASSERT_TRUE(std::isfinite(high[i]) && std::isfinite(low[i]) && std::isfinite(same[i])) << id;
      if (capped) // both scores are the cap
        continue;
      const double near = 0x1p-7;
      EXPECT_NEAR(high[i], best[0][i], near * std::fabs(best[0][i])) << id << ", " << i;
      if (hasSinks) // they are far above both scores, and take all the weight
        EXPECT_EQ(low[i], 0) << id << ", " << i;
      else
        EXPECT_NEAR(low[i], worst[1][i], near * std::fabs(worst[1][i])) << id << ", " << i;
      EXPECT_NEAR(same[i], (equal[0][i] + equal[1][i]) / 2,
                  near * (std::fabs(equal[0][i]) + std::fabs(equal[1][i])))
          << id << ", " << i;
    }
    ++judged;
  }
  EXPECT_GE(judged, 8u);
}

} // namespace
} // namespace writ::test
