//===- api_sampling_test.cpp - tokens and log probabilities by the C API --===//

#include "api_fixture.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

using toy::ApiTest;
using toy::defaults;
using toy::Opened;

namespace {

TEST_F(ApiTest, F11_GreedyTakesTheLargestLogitOfEachOutput) {
  opened.feed(opened.sequence(), toy::tokens(4, 8), WRIT_OUTPUTS_ALL);
  int32_t tokens[4];
  ASSERT_EQ(writ_session_sample(opened.session, 0, 4, nullptr, tokens, &error), WRIT_OK)
      << error.text;
  for (int64_t i = 0; i < 4; ++i) {
    const std::vector<float> logits = opened.logits(i);
    EXPECT_EQ(tokens[i], std::max_element(logits.begin(), logits.end()) - logits.begin());
  }
  says(writ_session_sample(opened.session, 3, 2, nullptr, tokens, &error), WRIT_INVALID_ARGUMENT,
       "2 outputs from output 3 on are asked for, but the last step has 4");
  says(writ_session_sample(opened.session, INT64_MAX, INT64_MAX, nullptr, tokens, &error),
       WRIT_INVALID_ARGUMENT, "outputs from output 9223372036854775807 on are asked for");
  says(writ_session_sample(opened.session, 0, 0, nullptr, tokens, &error), WRIT_INVALID_ARGUMENT,
       "");
  says(writ_session_sample(opened.session, -1, 1, nullptr, tokens, &error), WRIT_INVALID_ARGUMENT,
       "");
}

TEST_F(ApiTest, F11_SeedStreamPositionAndRecentTokensReachTheSampler) {
  const auto drawn = [&](uint64_t seed, uint64_t stream, const std::vector<int32_t> &history) {
    const writ_sequence sequence = opened.sequence();
    opened.feed(sequence, history);
    writ_sampling sampling;
    writ_sampling_init(&sampling);
    sampling.temperature = 1;
    sampling.seed = seed;
    sampling.stream = stream;
    int32_t token = -1;
    EXPECT_EQ(writ_session_sample(opened.session, 0, 1, &sampling, &token, &error), WRIT_OK);
    EXPECT_EQ(writ_sequence_release(opened.session, sequence, nullptr), WRIT_OK);
    return token;
  };
  const std::vector<int32_t> history = toy::tokens(9, 3);
  std::vector<int32_t> other = history;
  ++other[2];
  // The toy sampler hashes what it is given; equal inputs give equal tokens, and these differ.
  const int32_t token = drawn(1, 2, history);
  EXPECT_EQ(drawn(1, 2, history), token);
  EXPECT_NE(drawn(2, 2, history), token);
  EXPECT_NE(drawn(1, 3, history), token);
  EXPECT_NE(drawn(1, 2, other), token);
  EXPECT_NE(drawn(1, 2, {history.begin(), history.end() - 1}), token);
}

TEST_F(ApiTest, F11_NonFiniteLogitsAreAnErrorAndNoTokenIsWritten) {
  opened.feed(opened.sequence(), {1, toy::kNanToken}, WRIT_OUTPUTS_ALL);
  int32_t tokens[2] = {-7, -7};
  says(writ_session_sample(opened.session, 0, 2, nullptr, tokens, &error), WRIT_NON_FINITE,
       "the logits of output 1 are not all finite");
  EXPECT_EQ(tokens[0], -7);
  EXPECT_EQ(tokens[1], -7);
  EXPECT_EQ(writ_session_sample(opened.session, 0, 1, nullptr, tokens, &error), WRIT_OK);
}

TEST_F(ApiTest, F11_SamplingParametersOutOfRangeAreRefused) {
  const writ_sequence sequence = opened.sequence();
  opened.feed(sequence, {1, 2});
  int32_t token = -7;
  const auto with = [&](const std::function<void(writ_sampling &)> &change, const char *text) {
    writ_sampling sampling;
    writ_sampling_init(&sampling);
    change(sampling);
    says(writ_session_sample(opened.session, 0, 1, &sampling, &token, &error),
         WRIT_INVALID_ARGUMENT, text);
  };
  with([](auto &s) { s.temperature = -1; }, "temperature");
  with([](auto &s) { s.temperature = NAN; }, "temperature");
  with([](auto &s) { s.temperature = INFINITY; }, "temperature");
  with([](auto &s) { s.top_p = 0; }, "top_p");
  with([](auto &s) { s.top_p = 1.5f; }, "top_p");
  with([](auto &s) { s.top_p = NAN; }, "top_p");
  with([](auto &s) { s.min_p = -0.1f; }, "min_p");
  with([](auto &s) { s.repeat_penalty = 0; }, "repeat_penalty");
  with([](auto &s) { s.top_k = -1; }, "top_k");
  with([](auto &s) { s.struct_size = 0; }, "struct_size");
  EXPECT_EQ(token, -7);
  ASSERT_EQ(writ_sequence_rewind(opened.session, sequence, 1, nullptr), WRIT_OK);
  says(writ_session_sample(opened.session, 0, 1, nullptr, &token, &error), WRIT_INVALID_ARGUMENT,
       "was released or rewound since the step");
}

TEST_F(ApiTest, C11_LogProbabilitiesAreOfTheAskedTokens) {
  opened.feed(opened.sequence(), toy::tokens(3, 8), WRIT_OUTPUTS_ALL);
  const int32_t tokens[] = {5, 47, 0};
  float values[3];
  ASSERT_EQ(writ_session_log_probabilities(opened.session, 0, 3, tokens, values, &error), WRIT_OK);
  for (int64_t i = 0; i < 3; ++i) {
    const std::vector<float> logits = opened.logits(i);
    double sum = 0;
    for (const float logit : logits)
      sum += std::exp(double(logit));
    EXPECT_NEAR(values[i], logits[size_t(tokens[i])] - std::log(sum), 1e-5);
  }
  const int32_t wrong = 48;
  says(writ_session_log_probabilities(opened.session, 0, 1, &wrong, values, &error),
       WRIT_INVALID_ARGUMENT, "tokens[0] is token 48");
  says(writ_session_log_probabilities(opened.session, 0, 1, tokens, nullptr, &error),
       WRIT_INVALID_ARGUMENT, "log_probabilities is null");
}

TEST_F(ApiTest, C3_WithoutAProviderSamplingIsRefused) {
  writ_model_desc model = *toy::alikeModel();
  model.sample = nullptr;
  model.log_probability = nullptr;
  Opened without(&model, defaults);
  without.feed(without.sequence(), {1});
  int32_t token = 0;
  float value = 0;
  says(writ_session_sample(without.session, 0, 1, nullptr, &token, &error), WRIT_UNSUPPORTED,
       "sample");
  says(writ_session_log_probabilities(without.session, 0, 1, &token, &value, &error),
       WRIT_UNSUPPORTED, "log_probability");
}

} // namespace
