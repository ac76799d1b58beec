//===- allocation_test.cpp - no allocation in a step after open -------------===//

#include "counting_malloc.h"
#include "toy_package.h"

#include <cstdlib>
#include <gtest/gtest.h>

using toy::Opened;

namespace {

TEST(Allocation, N27_TheCounterCounts) {
  EXPECT_EQ(counting::allocationsOf([] {
              int *volatile first = new int(1); // volatile: not to be optimised away
              void *volatile second = std::malloc(3);
              delete first;
              std::free(second);
            }),
            2);
  EXPECT_EQ(counting::allocationsOf([] {}), 0);
}

TEST(Allocation, N3_NoStepAllocates) {
  for (const writ_model_desc *model : {toy::alikeModel(), toy::splitModel()}) {
    Opened opened(model, [](writ_session_options &options) {
      options.context_tokens = 200;
      options.max_rows = 16;
      options.max_sequences = 3;
      options.max_outputs = 16;
      options.kv_tokens = 400;
      options.page_size = 4;
      options.threads = 3;
    });
    const std::vector<int32_t> prompt = toy::tokens(90, 1);
    const writ_sequence first = opened.sequence(), second = opened.sequence();
    writ_error error{};
    int64_t steps = 0;
    const auto ok = [&](writ_status status) { steps += status == WRIT_OK; };
    EXPECT_EQ(counting::allocationsOf([&] {
                ok(writ_sequence_feed(opened.session, first, prompt.data(), 90, WRIT_OUTPUTS_ALL,
                                      nullptr, nullptr, nullptr, &error));
                for (int i = 0; i < 50; ++i) {
                  // Decode of one sequence beside a prefill of another, then what is made of
                  // logits.
                  const writ_step_row rows[] = {{first, i % 40, 1}, {second, 1, 0}, {second, 2, 1}};
                  ok(writ_session_step(opened.session, rows, 3, &error));
                  int32_t tokens[2];
                  float values[2];
                  ok(writ_session_sample(opened.session, 0, 2, nullptr, tokens, &error));
                  ok(writ_session_log_probabilities(opened.session, 0, 2, tokens, values, &error));
                }
                ok(writ_sequence_rewind(opened.session, first, 10, &error));
                ok(writ_sequence_release(opened.session, second, &error));
                writ_sequence third{};
                ok(writ_sequence_create(opened.session, &third, &error));
              }),
              0);
    EXPECT_EQ(steps, 154) << error.text;
    // Refusals do not allocate either, their text included.
    EXPECT_EQ(counting::allocationsOf([&] {
                const writ_step_row rows[] = {{first, -1, 1}};
                EXPECT_EQ(writ_session_step(opened.session, rows, 1, &error),
                          WRIT_INVALID_ARGUMENT);
                EXPECT_EQ(writ_sequence_feed(opened.session, first, prompt.data(), 1000, 0, nullptr,
                                             nullptr, nullptr, &error),
                          WRIT_CONTEXT_FULL);
              }),
              0);
  }
}

TEST(Allocation, N10_PredictedBytesEqualAllocatedBytes) {
  toy::TemporaryFolder folder;
  toy::writePackage(folder.path());
  writ_package *package = nullptr;
  ASSERT_EQ(writ_package_open_linked(toy::alikeModel(), folder.path().c_str(), nullptr, &package,
                                     nullptr),
            WRIT_OK);
  writ_session_options options;
  writ_session_options_init(&options);
  options.max_sequences = 4;
  options.threads = 1; // a thread's stack is the system's
  writ_memory_plan plan{};
  plan.struct_size = sizeof plan;
  ASSERT_EQ(writ_plan_memory(package, &options, &plan, nullptr), WRIT_OK);
  writ_session *session = nullptr;
  const int64_t before = counting::bytes();
  ASSERT_EQ(writ_session_create(package, &options, &session, nullptr), WRIT_OK);
  const int64_t taken = counting::bytes() - before;
  // The session object itself and the small tables of its groups are beside the plan.
  EXPECT_GE(taken, plan.session_bytes);
  EXPECT_LE(taken, plan.session_bytes + 4096);
  writ_session_destroy(session, nullptr);
  writ_package_close(package, nullptr);
}

} // namespace
