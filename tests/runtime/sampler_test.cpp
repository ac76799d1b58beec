//===- sampler_test.cpp - the kernels' sampler through the C API ------------===//
//
// What the sampler computes is tested beside it; here, that the runtime hands it the right rows,
// parameters and scratch, whatever the batch and the threads.
//
//===----------------------------------------------------------------------===//

#include "toy_package.h"
#include "writ/kernel_table.h"

#include <cmath>
#include <gtest/gtest.h>
#include <set>

using toy::Opened;

namespace {

writ_model_desc modelWithKernels() {
  writ_model_desc model = *toy::alikeModel();
  model.sample = writ_find_provider("sample_philox");
  model.log_probability = writ_find_provider("log_probability_f32");
  return model;
}

writ_sampling warm(uint64_t seed, uint64_t stream) {
  writ_sampling sampling;
  writ_sampling_init(&sampling);
  sampling.temperature = 0.9f;
  sampling.top_p = 0.95f;
  sampling.min_p = 0.01f;
  sampling.top_k = 40;
  sampling.repeat_penalty = 1.2f;
  sampling.seed = seed;
  sampling.stream = stream;
  return sampling;
}

/// Tokens drawn for 12 sequences of different lengths, `together` of them in a step.
std::vector<int32_t> drawn(int64_t together, int32_t threads, int32_t isa) {
  const writ_model_desc model = modelWithKernels();
  Opened opened(&model, [&](writ_session_options &options) {
    options.context_tokens = 100;
    options.max_rows = 16;
    options.max_sequences = 12;
    options.max_outputs = together;
    options.threads = threads;
    options.isa = isa;
  });
  std::vector<writ_sequence> sequences;
  for (uint64_t i = 0; i < 12; ++i) {
    sequences.push_back(opened.sequence());
    opened.feed(sequences.back(), toy::tokens(int64_t(3 + i * 7), i), WRIT_OUTPUTS_NONE);
  }
  std::vector<int32_t> tokens(12);
  for (int64_t first = 0; first < 12; first += together) {
    std::vector<writ_step_row> rows;
    std::vector<writ_sampling> sampling;
    for (int64_t i = first; i < first + together; ++i) {
      rows.push_back({sequences[size_t(i)], int32_t(i), 1});
      sampling.push_back(warm(uint64_t(5 + i % 3), uint64_t(i)));
    }
    writ_error error{};
    EXPECT_EQ(writ_session_step(opened.session, rows.data(), together, &error), WRIT_OK)
        << error.text;
    EXPECT_EQ(writ_session_sample(opened.session, 0, together, sampling.data(),
                                  tokens.data() + first, &error),
              WRIT_OK)
        << error.text;
  }
  return tokens;
}

TEST(Sampler, F11_S2_BatchThreadsAndInstructionSetDoNotShow) {
  const std::vector<int32_t> expected = drawn(1, 1, WRIT_ISA_SCALAR);
  EXPECT_GT(std::set<int32_t>(expected.begin(), expected.end()).size(), 3u);
  for (const int64_t together : {2, 3, 12})
    EXPECT_EQ(drawn(together, 3, WRIT_ISA_BEST), expected) << together;
}

TEST(Sampler, F11_GreedyTakesTheLargestLogitAndNonFiniteOnesAreRefused) {
  const writ_model_desc model = modelWithKernels();
  Opened opened(&model, [](writ_session_options &options) {
    options.context_tokens = 64;
    options.max_outputs = 8;
  });
  std::vector<int32_t> ids = toy::tokens(8, 8);
  ids.back() = toy::kNanToken;
  opened.feed(opened.sequence(), ids, WRIT_OUTPUTS_ALL);
  int32_t tokens[8];
  float values[8];
  writ_error error{};
  ASSERT_EQ(writ_session_sample(opened.session, 0, 7, nullptr, tokens, &error), WRIT_OK)
      << error.text;
  ASSERT_EQ(writ_session_log_probabilities(opened.session, 0, 7, tokens, values, &error), WRIT_OK);
  for (int64_t i = 0; i < 7; ++i) {
    const std::vector<float> logits = opened.logits(i);
    EXPECT_EQ(tokens[i], std::max_element(logits.begin(), logits.end()) - logits.begin());
    double sum = 0;
    for (const float logit : logits)
      sum += std::exp(double(logit));
    EXPECT_NEAR(values[i], logits[size_t(tokens[i])] - std::log(sum), 1e-5);
  }
  EXPECT_EQ(writ_session_sample(opened.session, 0, 8, nullptr, tokens, &error), WRIT_NON_FINITE);
  EXPECT_STREQ(error.text, "the logits of output 7 are not all finite");
}

} // namespace
