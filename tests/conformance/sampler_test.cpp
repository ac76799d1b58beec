//===- sampler_test.cpp - known answers of the reference's sampler --------===//
#include "ir/Reference/Philox.h"
#include "ir/Reference/Storage.h"
#include "tests/conformance/Problem.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

namespace writ::test {
namespace {

using reference::SampleRequest;

/// What each contract of the family gives, by its own words.
class F11_Sampler : public testing::TestWithParam<std::string> {
protected:
  void SetUp() override { RecordProperty("contract", GetParam()); } // for its evidence record
  const nlohmann::json &contract() const { return Data::get().contracts.at(GetParam()); }
  std::string storage() const { return contract()["operands"]["logits"]["storage"]; }

  int32_t draw(const std::vector<float> &logits, const SampleRequest &request) const {
    return drawBy(GetParam(), logits, request);
  }
  static int32_t drawBy(const std::string &contract, const std::vector<float> &logits,
                        const SampleRequest &request);
};

INSTANTIATE_TEST_SUITE_P(, F11_Sampler, testing::ValuesIn(Data::get().contractsOf("sample")),
                         [](const auto &info) { return info.param; });

// The known-answer vectors that Random123 1.14 publishes for philox4x32 with 10 rounds
// (kat_vectors).
TEST_P(F11_Sampler, PhiloxKnownAnswers) {
  ASSERT_EQ(contract()["random"], "philox4x32_10");
  struct Vector {
    std::array<uint32_t, 4> counter;
    std::array<uint32_t, 2> key;
    std::array<uint32_t, 4> expected;
  };
  const Vector vectors[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
  for (const Vector &v : vectors)
    EXPECT_EQ(reference::philox4x32(v.counter, v.key, 10), v.expected);
  EXPECT_NE(reference::philox4x32({0, 0, 0, 0}, {0, 0}, 9), vectors[0].expected);
}

int32_t F11_Sampler::drawBy(const std::string &contract, const std::vector<float> &logits,
                            const SampleRequest &request) {
  auto problem =
      makeProblem(contract, {{"rows", 1}, {"vocabulary", static_cast<int64_t>(logits.size())}}, {});
  for (size_t i = 0; i < logits.size(); ++i)
    reference::writeScalar(problem->call.operands.at("logits").storage,
                           problem->buffers.at("logits").base(), static_cast<int64_t>(i),
                           logits[i]);
  problem->call.samples = {request};
  problem->evaluate();
  int32_t token = 0;
  std::memcpy(&token, problem->buffers.at("token").base(), 4);
  return token;
}

TEST_P(F11_Sampler, GreedyTakesTheLargestAndTiesTakeTheLowestId) {
  EXPECT_EQ(draw({1, 3, 2}, {}), 1);
  EXPECT_EQ(draw({1, 3, 3, 3}, {}), 1);
  EXPECT_EQ(draw({-0.0f, 0.0f}, {}), 0);
  EXPECT_EQ(draw({5}, {}), 0);
}

TEST_P(F11_Sampler, NonFiniteLogitsAreRejected) {
  for (const float bad : {std::nanf(""), INFINITY, -INFINITY}) {
    EXPECT_EQ(draw({1, bad, 2}, {}), -1);
    EXPECT_EQ(draw({1, bad, 2}, {.temperature = 1}), -1);
  }
}

TEST_P(F11_Sampler, RepetitionPenaltyCountsATokenOnce) {
  // 4 / 1.5 < 3; twice would change nothing here, and once does not reach 1.
  EXPECT_EQ(draw({4, 3, 1}, {.repeatPenalty = 1.5f, .recent = {0}}), 1);
  EXPECT_EQ(draw({4, 2, 1}, {.repeatPenalty = 1.5f, .recent = {0, 0, 0}}), 0);
  // Negative logits move down.
  EXPECT_EQ(draw({-1, -1.2f}, {.repeatPenalty = 1.5f, .recent = {0}}), 1);
}

TEST_P(F11_Sampler, TruncationLeavesTheRightCandidates) {
  for (uint64_t position = 0; position < 200; ++position) {
    SampleRequest request{.temperature = 5, .topK = 2, .seed = 11, .position = position};
    EXPECT_NE(draw({3, 2, 1}, request), 2);
    request.topK = 0;
    request.topP = 0.7f; // e^0 = 1, e^-1 = 0.37, e^-2 = 0.14: 1 < 0.7 * 1.5, so two are kept
    EXPECT_NE(draw({3, 2, 1}, request), 2);
    request.topP = 0.6f;
    EXPECT_EQ(draw({3, 2, 1}, request), 0);
    request.topP = 1;
    request.minP = 0.3f;
    EXPECT_NE(draw({3, 2, 1}, request), 2);
    request.minP = 0.5f;
    EXPECT_EQ(draw({3, 2, 1}, request), 0);
  }
}

TEST_P(F11_Sampler, SameSeedSameTokenAndTheRightFrequencies) {
  const std::vector<float> logits{0, std::log(2.0f), std::log(5.0f)};
  std::array<int, 3> count{};
  constexpr int draws = 2000;
  for (uint64_t position = 0; position < draws; ++position) {
    const SampleRequest request{.temperature = 1, .seed = 42, .stream = 7, .position = position};
    const int32_t token = draw(logits, request);
    if (position % 16 == 0) {
      EXPECT_EQ(token, draw(logits, request));
    }
    ++count.at(static_cast<size_t>(token));
  }
  for (int i = 0; i < 3; ++i) { // five standard deviations
    const double p = std::array{1.0, 2.0, 5.0}[i] / 8;
    EXPECT_NEAR(count[i], p * draws, 5 * std::sqrt(draws * p * (1 - p)));
  }
}

// Logits of binary16 are widened exactly, so that they draw what the same values draw in binary32.
TEST_P(F11_Sampler, LogitsOfBinary16DrawAsTheirValues) {
  // The same words over logits of the other width.
  const bool half = storage() == "f16";
  std::string other;
  for (const std::string &id : Data::get().contractsOf("sample")) {
    nlohmann::json same = Data::get().contracts.at(id);
    same["id"] = contract()["id"];
    same["operands"] = contract()["operands"];
    if (id != GetParam() && same == contract())
      other = id;
  }
  ASSERT_NE(other, "");
  Random random(11);
  for (uint64_t position = 0; position < 50; ++position) {
    std::vector<float> logits(40); // multiples of 2^-6 below 4
    for (float &logit : logits)
      logit = static_cast<float>(random.below(512) - 256) / 64;
    const SampleRequest request{
        .temperature = 1, .topP = 0.9f, .repeatPenalty = 1.3f, .position = position, .recent = {3}};
    EXPECT_EQ(draw(logits, request), drawBy(other, logits, request));
  }
  // Equal in binary16, so that the lowest id is taken; an infinity there.
  EXPECT_EQ(draw({1, 1.0001f}, {}), half ? 0 : 1);
  EXPECT_EQ(draw({1, 70000, 2}, {}), half ? -1 : 1);
  EXPECT_EQ(draw({1, std::nanf(""), 2}, {.temperature = 1}), -1);
}

// The published vectors again, through the op: the upper 24 bits of the first word are u, and of
// position, stream and seed each has its words of counter and key.
TEST_P(F11_Sampler, TheUniformIsTheFirstWord) {
  const SampleRequest zeros{.temperature = 1};
  const SampleRequest digits{.temperature = 1,
                             .seed = 0x299f31d0a4093822,
                             .stream = 0x0370734413198a2e,
                             .position = 0x85a308d3243f6a88};
  for (const auto &[request, word] : {std::pair(zeros, 0x6627e8d5u), {digits, 0xd16cfe09u}})
    for (const int n : {3, 10, 100}) {
      const double u = static_cast<double>(word >> 8) * 0x1p-24;
      EXPECT_EQ(draw(std::vector<float>(n, 1.5f), request),
                static_cast<int32_t>(std::floor(u * n)));
    }
}

} // namespace
} // namespace writ::test
