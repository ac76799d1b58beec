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

// The known-answer vectors that Random123 1.14 publishes for philox4x32 with 10 rounds
// (kat_vectors).
TEST(F11_Sampler, PhiloxKnownAnswers) {
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

int32_t draw(const std::vector<float> &logits, const SampleRequest &request,
             const std::string &contract = "sample_philox_v0") {
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

TEST(F11_Sampler, GreedyTakesTheLargestAndTiesTakeTheLowestId) {
  EXPECT_EQ(draw({1, 3, 2}, {}), 1);
  EXPECT_EQ(draw({1, 3, 3, 3}, {}), 1);
  EXPECT_EQ(draw({-0.0f, 0.0f}, {}), 0);
  EXPECT_EQ(draw({5}, {}), 0);
}

TEST(F11_Sampler, NonFiniteLogitsAreRejected) {
  for (const float bad : {std::nanf(""), INFINITY, -INFINITY}) {
    EXPECT_EQ(draw({1, bad, 2}, {}), -1);
    EXPECT_EQ(draw({1, bad, 2}, {.temperature = 1}), -1);
  }
}

TEST(F11_Sampler, RepetitionPenaltyCountsATokenOnce) {
  // 4 / 1.5 < 3; twice would change nothing here, and once does not reach 1.
  EXPECT_EQ(draw({4, 3, 1}, {.repeatPenalty = 1.5f, .recent = {0}}), 1);
  EXPECT_EQ(draw({4, 2, 1}, {.repeatPenalty = 1.5f, .recent = {0, 0, 0}}), 0);
  // Negative logits move down.
  EXPECT_EQ(draw({-1, -1.2f}, {.repeatPenalty = 1.5f, .recent = {0}}), 1);
}

TEST(F11_Sampler, TruncationLeavesTheRightCandidates) {
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

TEST(F11_Sampler, SameSeedSameTokenAndTheRightFrequencies) {
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
TEST(F11_Sampler, LogitsOfBinary16DrawAsTheirValues) {
  const std::string half = "sample_philox_f16_v0";
  Random random(11);
  for (uint64_t position = 0; position < 50; ++position) {
    std::vector<float> logits(40); // multiples of 2^-6 below 4
    for (float &logit : logits)
      logit = static_cast<float>(random.below(512) - 256) / 64;
    const SampleRequest request{
        .temperature = 1, .topP = 0.9f, .repeatPenalty = 1.3f, .position = position, .recent = {3}};
    EXPECT_EQ(draw(logits, request, half), draw(logits, request));
  }
  EXPECT_EQ(draw({1, 1.0001f}, {}), 1);
  EXPECT_EQ(draw({1, 1.0001f}, {}, half), 0) << "equal in binary16: the lowest id";
  EXPECT_EQ(draw({1, 70000, 2}, {}, half), -1) << "an infinity in binary16";
  EXPECT_EQ(draw({1, std::nanf(""), 2}, {.temperature = 1}, half), -1);
}

// The first word of counter (position 5, stream 0), key 0 decides: u is taken from its upper 24
// bits.
TEST(F11_Sampler, TheUniformIsTheFirstWord) {
  const auto word = reference::philox4x32({5, 0, 0, 0}, {0, 0}, 10)[0];
  const float u = static_cast<float>(word >> 8) * 0x1p-24f;
  for (int n : {3, 10, 100}) {
    const std::vector<float> flat(n, 1.5f);
    EXPECT_EQ(draw(flat, {.temperature = 1, .position = 5}),
              static_cast<int32_t>(std::floor(u * static_cast<float>(n))));
  }
}

} // namespace
} // namespace writ::test
