//===- api_test.cpp - the C API refuses what is wrong and says why ----------===//

#include "api_fixture.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <sched.h>
#include <set>

using toy::ApiTest;
using toy::defaults;
using toy::Opened;

extern "C" const char *writ_test_open_nothing(writ_error *error);

namespace {

TEST_F(ApiTest, N20_WritHWorksFromC) {
  EXPECT_NE(std::string(writ_test_open_nothing(&error)).find("/nonexistent/writ.lock.json"),
            std::string::npos)
      << error.text;
}

TEST_F(ApiTest, N18_VersionsStatusesAndInstructionSetsHaveNames) {
  EXPECT_STREQ(writ_version(), "0.1.0");
  for (int32_t status = WRIT_OK; status <= WRIT_INTERNAL; ++status)
    EXPECT_STRNE(writ_status_name(status), "unknown status") << status;
  EXPECT_STREQ(writ_status_name(WRIT_INTERNAL + 1), "unknown status");
  for (int32_t isa = 0; isa < WRIT_ISA_COUNT; ++isa)
    EXPECT_EQ(writ_isa_from_name(writ_isa_name(isa)), isa);
  EXPECT_EQ(writ_isa_name(-1), nullptr);
  EXPECT_EQ(writ_isa_from_name("sse9"), -1);
  EXPECT_EQ(writ_isa_from_name(nullptr), -1);
}

TEST_F(ApiTest, N20_NullArgumentsAreRefused) {
  writ_package *package = nullptr;
  writ_session *session = nullptr;
  writ_sequence sequence = opened.sequence();
  int64_t number = 0;
  int32_t token = 0;
  float value = 0;
  const writ_step_row row{sequence, 1, 1};
  const auto bad = WRIT_INVALID_ARGUMENT;
  says(writ_package_open("p", nullptr, nullptr, &error), bad, "package is null");
  says(writ_package_open(nullptr, nullptr, &package, &error), bad, "path is null");
  says(writ_package_open("", nullptr, &package, &error), bad, "path is empty");
  says(writ_package_open_linked(nullptr, "p", nullptr, &package, &error), bad, "model is null");
  says(writ_package_get_info(nullptr, nullptr, &error), bad, "package is null");
  says(writ_package_get_info(opened.package, nullptr, &error), bad, "writ_package_info is null");
  says(writ_session_create(nullptr, nullptr, &session, &error), bad, "package is null");
  says(writ_session_create(opened.package, nullptr, nullptr, &error), bad, "session is null");
  says(writ_plan_memory(nullptr, nullptr, nullptr, &error), bad, "package is null");
  says(writ_plan_memory(opened.package, nullptr, nullptr, &error), bad, "writ_memory_plan is null");
  says(writ_session_get_options(nullptr, nullptr, &error), bad, "session is null");
  says(writ_session_get_memory(nullptr, nullptr, &error), bad, "session is null");
  says(writ_session_set_threads(nullptr, 1, &error), bad, "session is null");
  says(writ_sequence_create(nullptr, &sequence, &error), bad, "session is null");
  says(writ_sequence_create(opened.session, nullptr, &error), bad, "sequence is null");
  says(writ_sequence_release(nullptr, sequence, &error), bad, "session is null");
  says(writ_sequence_rewind(nullptr, sequence, 0, &error), bad, "session is null");
  says(writ_sequence_length(nullptr, sequence, &number, &error), bad, "session is null");
  says(writ_sequence_length(opened.session, sequence, nullptr, &error), bad, "length is null");
  says(writ_sequence_tokens(opened.session, sequence, nullptr, 3, &number, &error), bad,
       "ids is null");
  says(writ_session_step(nullptr, &row, 1, &error), bad, "session is null");
  says(writ_session_step(opened.session, nullptr, 1, &error), bad, "rows is null");
  says(writ_sequence_feed(opened.session, sequence, nullptr, 1, 0, nullptr, nullptr, nullptr,
                          &error),
       bad, "ids is null");
  says(writ_session_sample(opened.session, 0, 1, nullptr, nullptr, &error), bad, "tokens is null");
  says(writ_session_log_probabilities(opened.session, 0, 1, nullptr, &value, &error), bad,
       "tokens is null");
  says(writ_generate(opened.session, sequence, nullptr, 1, nullptr, nullptr, &error), bad,
       "ids is null");
  says(writ_tokenize(nullptr, "a", 1, 0, &token, 1, &number, &error), bad, "package is null");
  says(writ_tokenize(opened.package, nullptr, 1, 0, &token, 1, &number, &error), bad,
       "text is null");
  says(writ_tokenize(opened.package, "a", -1, 0, &token, 1, &number, &error), bad, "bytes is -1");
  says(writ_tokenize(opened.package, "a", 1, 64, &token, 1, &number, &error), bad, "flags is 64");
  says(writ_tokenize(opened.package, "a", 1, 0, nullptr, 1, &number, &error), bad, "ids is null");
  says(writ_detokenize(opened.package, nullptr, 1, 0, nullptr, 0, &number, &error), bad,
       "ids is null");
  token = 48;
  says(writ_detokenize(opened.package, &token, 1, 0, nullptr, 0, &number, &error), bad, "token 48");
  says(writ_chat_tokenize(opened.package, nullptr, 1, nullptr, 0, &number, &error), bad,
       "messages is null");
  EXPECT_EQ(writ_session_step(nullptr, &row, 1, nullptr), bad) << "an error may be null";
  EXPECT_EQ(writ_session_logits(nullptr, 0), nullptr);
  EXPECT_EQ(writ_session_output_count(nullptr), 0);
  EXPECT_EQ(writ_session_free_pages(nullptr), 0);
  EXPECT_EQ(writ_package_model(nullptr), nullptr);
  EXPECT_EQ(writ_token_ends_generation(nullptr, 0), 0);
  EXPECT_EQ(writ_package_close(nullptr, nullptr), WRIT_OK);
  EXPECT_EQ(writ_session_destroy(nullptr, nullptr), WRIT_OK);
  writ_open_options_init(nullptr);
  writ_session_options_init(nullptr);
  writ_sampling_init(nullptr);
  writ_generate_options_init(nullptr);
}

TEST_F(ApiTest, N18_OptionsOutOfRangeAreRefusedByName) {
  const auto with = [&](const std::function<void(writ_session_options &)> &change,
                        writ_status expected, const std::string &text) {
    writ_session_options options;
    writ_session_options_init(&options);
    change(options);
    writ_session *session = nullptr;
    says(writ_session_create(opened.package, &options, &session, &error), expected, text);
    EXPECT_EQ(session, nullptr);
  };
  const auto bad = WRIT_INVALID_ARGUMENT;
  with([](auto &o) { o.context_tokens = 2049; }, bad, "context_tokens is 2049, expected 1 to 2048");
  with([](auto &o) { o.context_tokens = -1; }, bad, "context_tokens is -1");
  with([](auto &o) { o.max_rows = -1; }, bad, "max_rows is -1");
  with([](auto &o) { o.max_sequences = 1 << 17; }, bad, "max_sequences is 131072");
  with([](auto &o) { o.max_outputs = 513; }, bad,
       "max_outputs is 513, expected 1 to 512 (max_rows)");
  with([](auto &o) { o.page_size = -5; }, bad, "page_size is -5");
  with([](auto &o) { o.kv_tokens = -5; }, bad, "kv_tokens is -5");
  with([](auto &o) { o.kv_tokens = int64_t(1) << 40, o.page_size = 1; }, bad,
       "the number of KV pages");
  with([](auto &o) { o.threads = 1025; }, bad, "threads is 1025");
  with([](auto &o) { o.threads = -1; }, bad, "threads is -1");
  with([](auto &o) { o.isa = WRIT_ISA_COUNT; }, bad, "isa is 6");
  with([](auto &o) { o.isa = -2; }, bad, "isa is -2");
  for (int32_t isa = 0; isa < WRIT_ISA_COUNT; ++isa) // of another architecture, at the least
    if (!writ_isa_supported(isa))
      with([isa](auto &o) { o.isa = isa; }, WRIT_UNSUPPORTED, "this machine supports");
#ifndef TOY_SANITIZED // a sanitizer's allocator ends the program
  // More memory than there is address space.
  with([](auto &o) { o.kv_tokens = int64_t(1) << 46, o.page_size = 1 << 16; }, WRIT_OUT_OF_MEMORY,
       "cannot allocate");
#endif
  says(writ_session_set_threads(opened.session, 0, &error), bad, "threads is 0");
  says(writ_session_set_threads(opened.session, 1025, &error), bad, "threads is 1025");
}

TEST_F(ApiTest, N18_EachInstructionSetOfTheMachineCanBeAskedFor) {
  EXPECT_EQ(writ_isa_supported(WRIT_ISA_SCALAR), 1);
  EXPECT_EQ(writ_isa_supported(writ_isa_best()), 1);
  EXPECT_EQ(writ_isa_supported(-1) + writ_isa_supported(WRIT_ISA_COUNT), 0);
  for (int32_t isa = 0; isa <= writ_isa_best(); ++isa) {
    if (!writ_isa_supported(isa))
      continue;
    Opened asked(toy::alikeModel(), [&](writ_session_options &options) { options.isa = isa; });
    writ_session_options options{};
    options.struct_size = sizeof options;
    ASSERT_EQ(writ_session_get_options(asked.session, &options, nullptr), WRIT_OK);
    EXPECT_EQ(options.isa, isa);
  }
}

TEST_F(ApiTest, N19_ShortStructsHaveDefaultsAndPoisonedTailsAreRefused) {
  struct Longer {
    writ_session_options options;
    char tail[16];
  } longer{};
  writ_session_options_init(&longer.options);
  longer.options.struct_size = sizeof longer;
  writ_session *session = nullptr;
  EXPECT_EQ(writ_session_create(opened.package, &longer.options, &session, &error), WRIT_OK);
  EXPECT_EQ(writ_session_destroy(session, nullptr), WRIT_OK);
  longer.tail[9] = 1;
  says(writ_session_create(opened.package, &longer.options, &session, &error),
       WRIT_INVALID_ARGUMENT, "a value at byte ");
  writ_session_options shorter;
  std::memset(static_cast<void *>(&shorter), 0x7f, sizeof shorter); // nonsense beyond the size
  shorter.context_tokens = 16;
  shorter.struct_size = offsetof(writ_session_options, max_rows);
  ASSERT_EQ(writ_session_create(opened.package, &shorter, &session, &error), WRIT_OK) << error.text;
  writ_session_options used{};
  used.struct_size = offsetof(writ_session_options, max_sequences);
  used.max_sequences = 77;
  EXPECT_EQ(writ_session_get_options(session, &used, nullptr), WRIT_OK);
  EXPECT_EQ(used.context_tokens, 16);
  EXPECT_EQ(used.max_rows, 512);
  EXPECT_EQ(used.max_sequences, 77) << "beyond the caller's struct";
  EXPECT_EQ(writ_session_destroy(session, nullptr), WRIT_OK);
  for (const size_t size : {3, 20, 65544}) { // 20 ends inside of max_rows
    shorter.struct_size = size;
    says(writ_session_create(opened.package, &shorter, &session, &error), WRIT_INVALID_ARGUMENT,
         "writ_session_options.struct_size is " + std::to_string(size));
  }
  writ_package *package = nullptr;
  writ_open_options half; // a log whose pointer would be half of one
  writ_open_options_init(&half);
  half.log = [](void *, int32_t, const char *) {};
  half.struct_size = offsetof(writ_open_options, log) + 4;
  says(
      writ_package_open_linked(toy::alikeModel(), opened.file("").c_str(), &half, &package, &error),
      WRIT_INVALID_ARGUMENT, "writ_open_options.struct_size is 20");
}

TEST_F(ApiTest, N19_WhatIsReservedMustBeZero) {
  writ_open_options open;
  writ_open_options_init(&open);
  open.reserved = 1;
  writ_package *package = nullptr;
  says(
      writ_package_open_linked(toy::alikeModel(), opened.file("").c_str(), &open, &package, &error),
      WRIT_INVALID_ARGUMENT, "writ_open_options.reserved is 1, expected 0");
  writ_generate_options generate;
  writ_generate_options_init(&generate);
  generate.reserved = 1;
  const int32_t token = 1;
  says(writ_generate(opened.session, opened.sequence(), &token, 1, &generate, nullptr, &error),
       WRIT_INVALID_ARGUMENT, "writ_generate_options.reserved is 1, expected 0");
}

TEST_F(ApiTest, N18_ThreadsAreBoundOnRequestOrRefused) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  writ_session_options options;
  writ_session_options_init(&options);
  options.pin = -3;
  writ_session *session = nullptr;
  says(writ_session_create(opened.package, &options, &session, &error), WRIT_INVALID_ARGUMENT,
       "pin is -3, expected 0 to 1");
  const int32_t count = writ_processor_count();
  options.pin = 1;
  options.threads = count + 1;
  const std::string said = "pin is 1 and threads is " + std::to_string(count + 1) +
                           ", but this thread may run on " + std::to_string(count) +
                           " processors; lower threads";
  says(writ_session_create(opened.package, &options, &session, &error), WRIT_INVALID_ARGUMENT,
       said);
  writ_memory_plan plan{};
  plan.struct_size = sizeof plan;
  says(writ_plan_memory(opened.package, &options, &plan, &error), WRIT_INVALID_ARGUMENT, said);

  // Each thread that runs a kernel has one processor, and no two have the same.
  options.threads = count;
  std::set<int> mine;
  options.trace_user = &mine;
  options.trace = [](void *user, const writ_step *, uint32_t, const writ_provider *, const void *) {
    cpu_set_t now;
    sched_getaffinity(0, sizeof now, &now);
    for (int i = 0; i < CPU_SETSIZE; ++i)
      if (CPU_ISSET(i, &now))
        static_cast<std::set<int> *>(user)->insert(i);
  };
  ASSERT_EQ(writ_session_create(opened.package, &options, &session, &error), WRIT_OK) << error.text;
  writ_sequence sequence{};
  ASSERT_EQ(writ_sequence_create(session, &sequence, &error), WRIT_OK);
  const writ_step_row row{sequence, 1, 1};
  ASSERT_EQ(writ_session_step(session, &row, 1, &error), WRIT_OK) << error.text;
  EXPECT_EQ(mine.size(), 1u) << "the caller, while the step ran";
  std::set<int> others;
  for (const auto &task : std::filesystem::directory_iterator("/proc/self/task")) {
    cpu_set_t now;
    const int id = std::stoi(task.path().filename());
    if (count == 1 || sched_getaffinity(id, sizeof now, &now) != 0 || CPU_COUNT(&now) != 1)
      continue;
    for (int i = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(i, &now)) {
        EXPECT_TRUE(others.insert(i).second) << "processor " << i << " has two";
      }
    }
  }
  if (count > 1) {
    EXPECT_EQ(int32_t(others.size()), count - 1);
    EXPECT_FALSE(others.contains(*mine.begin()));
  }
  cpu_set_t after;
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after)) << "a step gives the caller back its processors";
  EXPECT_EQ(writ_session_destroy(session, &error), WRIT_OK);
}

TEST_F(ApiTest, N19_ResultsAreFilledUpToTheCallersSize) {
  struct Longer {
    writ_package_info info;
    int64_t tail = -1;
  } longer{};
  longer.info.struct_size = sizeof longer;
  ASSERT_EQ(writ_package_get_info(opened.package, &longer.info, &error), WRIT_OK) << error.text;
  EXPECT_EQ(longer.tail, 0) << "what this library does not know is 0";
  EXPECT_EQ(longer.info.struct_size, sizeof longer);
  writ_package_info shorter{};
  shorter.struct_size = offsetof(writ_package_info, model_name);
  ASSERT_EQ(writ_package_get_info(opened.package, &shorter, &error), WRIT_OK);
  EXPECT_EQ(shorter.path, opened.file(""));
  EXPECT_EQ(shorter.model_name, nullptr);
  for (const size_t size : {0, 4, 20, 65544}) {
    shorter.struct_size = size;
    says(writ_package_get_info(opened.package, &shorter, &error), WRIT_INVALID_ARGUMENT,
         "writ_package_info.struct_size is " + std::to_string(size));
  }
}

TEST_F(ApiTest, N18_GenerateRefusesItsOptionsBeforeItDoesAnything) {
  const writ_sequence sequence = opened.sequence();
  const std::vector<int32_t> ids = toy::tokens(3, 5);
  const auto with = [&](const std::function<void(writ_generate_options &)> &change,
                        writ_status expected, const std::string &text) {
    writ_generate_options options;
    writ_generate_options_init(&options);
    change(options);
    writ_generate_result result{};
    result.struct_size = sizeof result;
    says(writ_generate(opened.session, sequence, ids.data(), 3, &options, &result, &error),
         expected, text);
    int64_t length = -1;
    ASSERT_EQ(writ_sequence_length(opened.session, sequence, &length, nullptr), WRIT_OK);
    EXPECT_EQ(length, 0) << "the prompt was fed";
    EXPECT_EQ(result.prompt_tokens, 0);
  };
  const auto bad = WRIT_INVALID_ARGUMENT;
  writ_sampling sampling;
  writ_sampling_init(&sampling);
  const char *strings[] = {"a", "", nullptr};
  with([](auto &o) { o.max_tokens = -1; }, bad, "max_tokens is -1");
  with([](auto &o) { o.stop_count = -1; }, bad, "stop_count is -1");
  with([](auto &o) { o.stop_count = 1; }, bad, "stop_strings is null");
  with([&](auto &o) { o.stop_strings = strings, o.stop_count = 2; }, bad,
       "stop_strings[1] is empty");
  with([&](auto &o) { o.stop_strings = strings + 2, o.stop_count = 1; }, bad,
       "stop_strings[0] is null");
  with([](auto &o) { o.struct_size = 4; }, bad, "writ_generate_options.struct_size is 4");
  with(
      [&](auto &o) {
        sampling.temperature = NAN;
        o.sampling = &sampling;
      },
      bad, "sampling.temperature is nan");
  with(
      [&](auto &o) {
        sampling.struct_size = 12;
        o.sampling = &sampling;
      },
      bad, "writ_sampling.struct_size is 12");
  writ_generate_result result{};
  says(writ_generate(opened.session, sequence, ids.data(), 3, nullptr, &result, &error), bad,
       "writ_generate_result.struct_size is 0");
  writ_model_desc model = *toy::alikeModel();
  model.sample = nullptr;
  Opened without(&model, defaults);
  says(writ_generate(without.session, without.sequence(), ids.data(), 3, nullptr, nullptr, &error),
       WRIT_UNSUPPORTED, "no provider of 'sample'");
}

TEST_F(ApiTest, N19_SamplingOfAnOlderCallerHasDefaults) {
  opened.feed(opened.sequence(), toy::tokens(2, 8), WRIT_OUTPUTS_ALL);
  // Two elements of the size that ended before top_k.
  constexpr size_t size = offsetof(writ_sampling, top_k);
  writ_sampling sampling;
  writ_sampling_init(&sampling);
  sampling.struct_size = size;
  alignas(writ_sampling) char older[2 * size];
  std::memcpy(older, &sampling, size);
  std::memcpy(older + size, &sampling, size);
  int32_t greedy[2], tokens[2];
  ASSERT_EQ(writ_session_sample(opened.session, 0, 2, nullptr, greedy, &error), WRIT_OK);
  ASSERT_EQ(writ_session_sample(opened.session, 0, 2,
                                reinterpret_cast<const writ_sampling *>(older), tokens, &error),
            WRIT_OK)
      << error.text;
  EXPECT_EQ(tokens[0], greedy[0]);
  EXPECT_EQ(tokens[1], greedy[1]);
  writ_sampling mixed[2];
  for (writ_sampling &element : mixed)
    writ_sampling_init(&element);
  mixed[1].struct_size = size;
  says(writ_session_sample(opened.session, 0, 2, mixed, tokens, &error), WRIT_INVALID_ARGUMENT,
       "sampling[1].struct_size is 24, but sampling[0].struct_size, the array's stride, is 48");
}

TEST_F(ApiTest, N10_PlanEqualsAllocation) {
  for (const writ_model_desc *model : {toy::alikeModel(), toy::splitModel()})
    for (const auto &change : std::vector<std::function<void(writ_session_options &)>>{
             defaults,
             [](auto &o) { o.max_sequences = 7, o.page_size = 3, o.context_tokens = 100; },
             [](auto &o) { o.max_rows = 33, o.max_outputs = 5, o.kv_tokens = 1001; }}) {
      Opened session(model, change);
      writ_session_options options;
      writ_session_options_init(&options);
      change(options);
      writ_memory_plan plan{}, got{};
      plan.struct_size = got.struct_size = sizeof plan;
      ASSERT_EQ(writ_plan_memory(session.package, &options, &plan, nullptr), WRIT_OK);
      ASSERT_EQ(writ_session_get_memory(session.session, &got, nullptr), WRIT_OK);
      EXPECT_EQ(plan.weights_bytes, got.weights_bytes);
      EXPECT_EQ(plan.kv_bytes_per_token, got.kv_bytes_per_token);
      EXPECT_EQ(plan.kv_pages, got.kv_pages);
      EXPECT_EQ(plan.kv_bytes, got.kv_bytes);
      EXPECT_EQ(plan.row_arena_bytes, got.row_arena_bytes);
      EXPECT_EQ(plan.output_arena_bytes, got.output_arena_bytes);
      EXPECT_EQ(plan.sampler_bytes, got.sampler_bytes);
      EXPECT_EQ(plan.table_bytes, got.table_bytes);
      EXPECT_EQ(plan.partial_bytes, got.partial_bytes);
      EXPECT_EQ(plan.session_bytes, got.session_bytes);
      ASSERT_EQ(writ_session_get_options(session.session, &options, nullptr), WRIT_OK);
      EXPECT_EQ(got.kv_bytes, got.kv_pages * options.page_size * got.kv_bytes_per_token);
      EXPECT_EQ(got.row_arena_bytes, 8 * options.max_rows);
      EXPECT_EQ(got.partial_bytes > 0, options.threads > 1);
    }
}

TEST_F(ApiTest, N22_ACallFromACallbackIsRefusedUnlessItOnlyReadsOutputs) {
  struct Seen {
    Opened &opened;
    writ_sequence sequence;
    int calls = 0;
  } seen{opened, opened.sequence()};
  const std::vector<int32_t> ids = toy::tokens(10, 1);
  ASSERT_EQ(
      writ_sequence_feed(
          opened.session, seen.sequence, ids.data(), 10, WRIT_OUTPUTS_ALL,
          [](void *user, writ_session *session, int64_t first, int64_t count) -> int32_t {
            Seen &seen = *static_cast<Seen *>(user);
            ++seen.calls;
            EXPECT_EQ(session, seen.opened.session);
            const writ_step_row row{seen.sequence, 1, 0};
            writ_error error{};
            EXPECT_EQ(writ_session_step(session, &row, 1, &error), WRIT_BUSY);
            EXPECT_EQ(writ_sequence_release(session, seen.sequence, &error), WRIT_BUSY);
            EXPECT_EQ(writ_session_destroy(session, &error), WRIT_BUSY);
            int32_t tokens[4];
            float values[4];
            EXPECT_EQ(writ_session_sample(session, 0, count, nullptr, tokens, &error), WRIT_OK);
            EXPECT_EQ(writ_session_log_probabilities(session, 0, count, tokens, values, &error),
                      WRIT_OK);
            const std::vector<int32_t> ids = toy::tokens(10, 1);
            for (int64_t i = 0; i < count; ++i)
              EXPECT_EQ(seen.opened.logits(i),
                        toy::expectedLogits({ids.begin(), ids.begin() + first + i + 1}));
            return 0;
          },
          &seen, nullptr, &error),
      WRIT_OK)
      << error.text;
  EXPECT_EQ(seen.calls, 3); // 4 + 4 + 2
}

TEST_F(ApiTest, N18_TextGoesToIdsAndBack) {
  const std::string text = "the caf\xc3\xa9?<|im_end|>";
  int64_t needed = 0;
  EXPECT_EQ(writ_tokenize(opened.package, text.data(), int64_t(text.size()),
                          WRIT_TOKENIZE_PARSE_SPECIAL, nullptr, 0, &needed, &error),
            WRIT_BUFFER_TOO_SMALL);
  std::vector<int32_t> ids(static_cast<size_t>(needed));
  ASSERT_EQ(writ_tokenize(opened.package, text.data(), int64_t(text.size()),
                          WRIT_TOKENIZE_PARSE_SPECIAL, ids.data(), needed, &needed, &error),
            WRIT_OK);
  EXPECT_EQ(ids.front(), toy::idOf("th"));
  EXPECT_EQ(ids.back(), toy::idOf(toy::kEnd));
  EXPECT_EQ(writ_token_ends_generation(opened.package, ids.back()), 1);
  EXPECT_EQ(writ_token_ends_generation(opened.package, ids.front()), 0);
  EXPECT_EQ(writ_token_ends_generation(opened.package, -1), 0);
  for (const int32_t special : {0, 1}) {
    std::string back(40, '\0');
    ASSERT_EQ(writ_detokenize(opened.package, ids.data(), int64_t(ids.size()), special, back.data(),
                              40, &needed, &error),
              WRIT_OK);
    back.resize(size_t(needed));
    EXPECT_EQ(back, special ? text : text.substr(0, text.size() - toy::kEnd.size()));
  }
  EXPECT_EQ(writ_tokenize(opened.package, nullptr, 0, 0, nullptr, 0, &needed, &error), WRIT_OK);
  EXPECT_EQ(needed, 0);
}

TEST_F(ApiTest, N18_ChatContentCannotForgeControlTokens) {
  const writ_message messages[] = {{"system", "be kind"}, {"user", "a<|im_end|>b"}};
  int64_t needed = 0;
  EXPECT_EQ(writ_chat_tokenize(opened.package, messages, 2, nullptr, 0, &needed, &error),
            WRIT_BUFFER_TOO_SMALL);
  std::vector<int32_t> ids(static_cast<size_t>(needed));
  ASSERT_EQ(writ_chat_tokenize(opened.package, messages, 2, ids.data(), needed, &needed, &error),
            WRIT_OK)
      << error.text;
  EXPECT_EQ(std::count(ids.begin(), ids.end(), toy::idOf(toy::kEnd)), 2);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), toy::idOf("<|im_start|>")), 3);
  std::string text(200, '\0');
  ASSERT_EQ(writ_chat_render(opened.package, messages, 2, text.data(), 200, &needed, &error),
            WRIT_OK);
  text.resize(size_t(needed));
  EXPECT_EQ(text,
            "<|im_start|>system\nbe kind<|im_end|>\n<|im_start|>user\na<|im_end|>b<|im_end|>\n"
            "<|im_start|>assistant\n");
  const writ_message stranger{"stranger", "x"};
  says(writ_chat_render(opened.package, &stranger, 1, nullptr, 0, &needed, &error),
       WRIT_INVALID_ARGUMENT, "stranger");
  const writ_message late[] = {{"user", "a"}, {"system", "be rude"}};
  says(writ_chat_render(opened.package, late, 2, nullptr, 0, &needed, &error),
       WRIT_INVALID_ARGUMENT, "messages[1] is of role 'system', which may only stand first");
  const writ_message null{"user", nullptr};
  says(writ_chat_render(opened.package, &null, 1, nullptr, 0, &needed, &error),
       WRIT_INVALID_ARGUMENT, "messages[0].content is null");
  toy::TemporaryFolder folder;
  toy::writePackage(folder.path(), [](toy::Json &lock) { lock.erase("chat"); });
  writ_package *plain = nullptr;
  ASSERT_EQ(
      writ_package_open_linked(toy::alikeModel(), folder.path().c_str(), nullptr, &plain, &error),
      WRIT_OK);
  says(writ_chat_render(plain, messages, 2, nullptr, 0, &needed, &error), WRIT_UNSUPPORTED,
       "the model file carries no chat template; give the whole text as a plain prompt");
  EXPECT_EQ(writ_package_close(plain, nullptr), WRIT_OK);
  const std::string fault = R"({"fault": "nobody knows it; do this"})";
  toy::writePackage(folder.path(),
                    [&](toy::Json &lock) { lock["chat"]["sha256"] = toy::sha256(fault); });
  toy::writeFile(folder.path() + "/chat.json", fault);
  ASSERT_EQ(
      writ_package_open_linked(toy::alikeModel(), folder.path().c_str(), nullptr, &plain, &error),
      WRIT_OK);
  says(writ_chat_render(plain, messages, 2, nullptr, 0, &needed, &error), WRIT_UNSUPPORTED,
       "nobody knows it; do this");
  writ_package_info info{};
  info.struct_size = sizeof info;
  EXPECT_EQ(writ_package_get_info(plain, &info, nullptr), WRIT_OK);
  EXPECT_EQ(info.has_chat_template, 0);
  EXPECT_EQ(writ_package_close(plain, nullptr), WRIT_OK);
}

} // namespace
