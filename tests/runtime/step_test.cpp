//===- step_test.cpp - one step: all or nothing, and the same bits ---------===//

#include "scheduler/session.h"
#include "strange_environment.h"
#include "support/float_environment.h"
#include "toy_package.h"

#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace writ;
using toy::Opened;

namespace {

std::function<void(writ_session_options &)> sized(int64_t rows, int64_t sequences, int64_t pageSize,
                                                  int32_t threads = 2) {
  return [=](writ_session_options &options) {
    options.context_tokens = 700;
    options.max_rows = rows;
    options.max_sequences = sequences;
    options.page_size = pageSize;
    options.threads = threads;
    options.poison = 1;
  };
}

//===-- the same bits ---------------------------------------------------------===//

const std::vector<int32_t> &longHistory() {
  static const std::vector<int32_t> ids = toy::tokens(610, 1);
  return ids;
}
const std::vector<float> &longLogits() {
  static const std::vector<float> logits = toy::expectedLogits(longHistory());
  return logits;
}

TEST(Step, S3_EveryPrefillChunkGivesTheSameBits) {
  for (const int64_t chunk : {1, 7, 16, 32, 512, 610}) {
    Opened opened(toy::alikeModel(), sized(chunk, 1, 32, 1));
    opened.feed(opened.sequence(), longHistory());
    EXPECT_EQ(opened.logits(), longLogits()) << chunk;
  }
}

TEST(Step, S1_EveryThreadCountGivesTheSameBits) {
  for (const int32_t threads : {1, 2, 3, 7, 16}) {
    Opened opened(toy::alikeModel(), sized(64, 1, 32, threads));
    opened.feed(opened.sequence(), longHistory());
    EXPECT_EQ(opened.logits(), longLogits()) << threads;
  }
}

TEST(Step, S1_ThreadCountsMayAlternateBetweenSteps) {
  Opened opened(toy::alikeModel(), sized(1, 1, 32, 6));
  const writ_sequence sequence = opened.sequence();
  for (size_t i = 0; i < 200; ++i) {
    ASSERT_EQ(writ_session_set_threads(opened.session, i % 2 ? 6 : 1, nullptr), WRIT_OK);
    opened.feed(sequence, {longHistory()[i]});
  }
  EXPECT_EQ(opened.logits(),
            toy::expectedLogits({longHistory().begin(), longHistory().begin() + 200}));
}

TEST(Step, S7_PageSizeOrderAndContextDoNotShow) {
  for (const int64_t pageSize : {1, 3, 16, 64, 1000})
    for (const uint64_t order : {0, 7}) {
      Opened opened(toy::alikeModel(), [&](writ_session_options &options) {
        sized(100, 2, pageSize, 1)(options);
        options.page_order_seed = order;
        options.context_tokens = 610 + int64_t(order) * 20;
      });
      opened.feed(opened.sequence(), toy::tokens(50, 9)); // so that ours does not begin at page 0
      opened.feed(opened.sequence(), longHistory());
      EXPECT_EQ(opened.logits(), longLogits()) << pageSize << " " << order;
    }
}

TEST(Step, S1_TheCallersFloatEnvironmentDoesNotShowAndComesBack) {
  Opened opened(toy::alikeModel(), sized(64, 1, 32, 3));
  const std::vector<int32_t> ids = toy::tokens(40, 2);
  const std::vector<float> expected = toy::expectedLogits(ids);
  const uint64_t found = FloatEnvironment::read();
  FloatEnvironment::write(found | test::kStrangeBits);
  const bool differs = toy::expectedLogits(ids) != expected;
  const uint64_t strange = FloatEnvironment::read();
  opened.feed(opened.sequence(), ids);
  const uint64_t after = FloatEnvironment::read();
  FloatEnvironment::write(found);
  EXPECT_EQ(opened.logits(), expected);
  EXPECT_EQ(after, strange);
  EXPECT_TRUE(differs) << "the control: this model shows the environment";
}

TEST(Step, S2_SixtyFourEqualSequencesInOneStep) { // CASES 1
  Opened opened(toy::alikeModel(), [](writ_session_options &options) {
    sized(64, 64, 4, 3)(options);
    options.context_tokens = 40;
  });
  std::vector<writ_sequence> sequences;
  for (int i = 0; i < 64; ++i)
    sequences.push_back(opened.sequence());
  const std::vector<int32_t> ids = toy::tokens(20, 3);
  for (const int32_t id : ids) {
    std::vector<writ_step_row> rows;
    for (const writ_sequence sequence : sequences)
      rows.push_back({sequence, id, 1});
    ASSERT_EQ(writ_session_step(opened.session, rows.data(), 64, nullptr), WRIT_OK);
  }
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(opened.logits(i), toy::expectedLogits(ids)) << i;
}

/// Random steps, rewinds and releases against a map from sequence to history.
void randomOperations(const writ_model_desc *model, unsigned seed) {
  std::mt19937 random(seed);
  Opened opened(model, [&](writ_session_options &options) {
    options.context_tokens = 30;
    options.max_rows = 12;
    options.max_sequences = 5;
    options.max_outputs = 6;
    options.kv_tokens = 60;
    options.page_size = 1 + random() % 5;
    options.threads = 1 + int32_t(random() % 3);
    options.page_order_seed = seed;
    options.poison = 1;
  });
  const int64_t pageSize = opened.session->options().page_size;
  const int64_t pages = opened.session->options().kv_tokens / pageSize;
  std::vector<std::pair<writ_sequence, std::vector<int32_t>>> live;
  const auto pagesOf = [&](size_t tokens) { return (int64_t(tokens) + pageSize - 1) / pageSize; };
  int64_t ran = 0;
  for (int operation = 0; operation < 150; ++operation) {
    const unsigned kind = random() % 10;
    if (live.empty() || (kind == 0 && live.size() < 5)) {
      live.push_back({opened.sequence(), {}});
    } else if (kind == 1) {
      auto &[sequence, history] = live[random() % live.size()];
      history.resize(random() % (history.size() + 1));
      ASSERT_EQ(writ_sequence_rewind(opened.session, sequence, int64_t(history.size()), nullptr),
                WRIT_OK);
    } else if (kind == 2) {
      const size_t victim = random() % live.size();
      ASSERT_EQ(writ_sequence_release(opened.session, live[victim].first, nullptr), WRIT_OK);
      live.erase(live.begin() + long(victim));
    } else {
      // Rows of several sequences, interleaved.
      std::vector<writ_step_row> rows;
      auto after = live;
      std::vector<std::vector<int32_t>> outputs;
      const int64_t count = 1 + random() % 12;
      for (int64_t i = 0; i < count; ++i) {
        auto &[sequence, history] = after[random() % after.size()];
        const int32_t token = int32_t(random() % toy::kNanToken);
        const bool output = outputs.size() < 6 && random() % 3 == 0;
        history.push_back(token);
        rows.push_back({sequence, token, output});
        if (output)
          outputs.push_back(history);
      }
      int64_t needed = 0;
      bool fits = true;
      for (const auto &[sequence, history] : after) {
        needed += pagesOf(history.size());
        fits = fits && history.size() <= 30;
      }
      const writ_status status =
          writ_session_step(opened.session, rows.data(), count, &opened.error);
      ASSERT_EQ(status, !fits            ? WRIT_CONTEXT_FULL
                        : needed > pages ? WRIT_OUT_OF_PAGES
                                         : WRIT_OK)
          << opened.error.text;
      if (status == WRIT_OK) {
        ++ran;
        live = after;
        ASSERT_EQ(writ_session_output_count(opened.session), int64_t(outputs.size()));
        for (size_t i = 0; i < outputs.size(); ++i)
          ASSERT_EQ(opened.logits(int64_t(i)), toy::expectedLogits(outputs[i]));
      }
    }
    int64_t used = 0;
    for (const auto &[sequence, history] : live) {
      std::vector<int32_t> tokens(30);
      int64_t length = -1;
      ASSERT_EQ(writ_sequence_tokens(opened.session, sequence, tokens.data(), 30, &length, nullptr),
                WRIT_OK);
      tokens.resize(size_t(length));
      ASSERT_EQ(tokens, history);
      used += pagesOf(history.size());
    }
    ASSERT_EQ(writ_session_free_pages(opened.session), pages - used);
  }
  EXPECT_GT(ran, 20);
}

TEST(Step, S2_S6_RandomOperationsAgreeWithASimpleModel) {
  for (unsigned seed = 1; seed <= 6; ++seed)
    randomOperations(toy::alikeModel(), seed);
}
TEST(Step, S2_S6_RandomOperationsAgreeWhereMixedStepsAreSplit) {
  for (unsigned seed = 11; seed <= 16; ++seed)
    randomOperations(toy::splitModel(), seed);
}

TEST(Step, N20_ATraceSeesEveryCallAndMayThrow) {
  std::vector<uint32_t> calls;
  Opened opened(toy::alikeModel(), [&](writ_session_options &options) {
    options.context_tokens = 16;
    options.trace_user = &calls;
    options.trace = [](void *user, const writ_step *, uint32_t call, const writ_provider *,
                       const void *) {
      static_cast<std::vector<uint32_t> *>(user)->push_back(call);
      throw 1;
    };
  });
  opened.feed(opened.sequence(), {1, 2, 3});
  EXPECT_EQ(calls, (std::vector<uint32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(opened.logits(), toy::expectedLogits({1, 2, 3}));
}

TEST(Step, N13_AStopActsBetweenTwoKernelsOfAStep) {
  struct Watched {
    volatile int32_t stop = 0;
    std::vector<uint32_t> calls;
    size_t last = 0; ///< the flag is set after so many kernels
  } watched;
  Opened opened(toy::alikeModel(), [&](writ_session_options &options) {
    sized(4, 1, 4)(options);
    options.trace_user = &watched;
    options.trace = [](void *user, const writ_step *, uint32_t call, const writ_provider *,
                       const void *) {
      Watched &self = *static_cast<Watched *>(user);
      self.calls.push_back(call);
      self.stop = self.calls.size() == self.last;
    };
  });
  const writ_sequence sequence = opened.sequence();
  const std::vector<int32_t> ids = toy::tokens(12, 5);
  const int64_t pages = writ_session_free_pages(opened.session);
  // A step has 8 kernels: the flag is seen in the first step, in the second, and between them.
  for (const size_t last : {1, 3, 8, 13}) {
    watched.calls.clear();
    watched.last = last;
    EXPECT_EQ(writ_sequence_feed(opened.session, sequence, ids.data(), 12, WRIT_OUTPUTS_LAST,
                                 nullptr, nullptr, &watched.stop, &opened.error),
              WRIT_STOPPED);
    EXPECT_EQ(std::string(opened.error.text),
              last < 8 ? "stopped after 0 of 12 tokens" : "stopped after 4 of 12 tokens");
    EXPECT_EQ(watched.calls.size(), last) << "no kernel runs after it";
    int64_t length = -1;
    EXPECT_EQ(writ_sequence_length(opened.session, sequence, &length, nullptr), WRIT_OK);
    EXPECT_EQ(length, 0);
    EXPECT_EQ(writ_session_free_pages(opened.session), pages);
    watched.stop = 0;
  }
  watched.last = 0;
  opened.feed(sequence, ids);
  EXPECT_EQ(opened.logits(), toy::expectedLogits(ids)) << "nothing is left of the stopped steps";
}

//===-- phases ------------------------------------------------------------------===//

TEST(Step, C5_DecodeRowsRunTheDecodeEntryAndMixedStepsAreSplitWherePhasesDiffer) {
  const auto entries = [](const writ_model_desc *model, std::vector<int> rowsOfEach) {
    Opened opened(model, sized(16, 3, 4));
    std::vector<writ_step_row> rows;
    for (const int count : rowsOfEach) {
      const writ_sequence sequence = opened.sequence();
      for (int i = 0; i < count; ++i)
        rows.push_back({sequence, i, 0});
    }
    const toy::Runs before = toy::runs();
    EXPECT_EQ(writ_session_step(opened.session, rows.data(), int64_t(rows.size()), nullptr),
              WRIT_OK);
    const toy::Runs after = toy::runs();
    return std::pair(after.prefill - before.prefill, after.decode - before.decode);
  };
  using Pair = std::pair<int64_t, int64_t>;
  for (const writ_model_desc *model : {toy::alikeModel(), toy::splitModel()}) {
    EXPECT_EQ(entries(model, {1}), Pair(0, 1));
    EXPECT_EQ(entries(model, {1, 1, 1}), Pair(0, 1));
    EXPECT_EQ(entries(model, {5}), Pair(1, 0));
    EXPECT_EQ(entries(model, {2, 3}), Pair(1, 0));
  }
  EXPECT_EQ(entries(toy::alikeModel(), {1, 3, 1}), Pair(1, 0));
  EXPECT_EQ(entries(toy::splitModel(), {1, 3, 1}), Pair(1, 1));
}

//===-- all or nothing -------------------------------------------------------===//

/// Everything of a session that a caller or the next step can see.
struct Snapshot {
  std::map<uint32_t, std::vector<int32_t>> tokens;
  std::vector<std::vector<float>> outputs;
  std::vector<int64_t> pages;
  int64_t freePages;

  bool operator==(const Snapshot &) const = default;
  Snapshot(const Opened &opened, const std::vector<writ_sequence> &sequences)
      : freePages(writ_session_free_pages(opened.session)) {
    for (const writ_sequence sequence : sequences) {
      int64_t length = 0;
      EXPECT_EQ(writ_sequence_length(opened.session, sequence, &length, nullptr), WRIT_OK);
      auto &ids = tokens[sequence.slot];
      ids.resize(size_t(length) + 1);
      EXPECT_EQ(
          writ_sequence_tokens(opened.session, sequence, ids.data(), length + 1, &length, nullptr),
          WRIT_OK);
      for (size_t group = 0; group < 2; ++group)
        for (int64_t block = 0; const auto page = opened.session->cache().page(
                                    group, SequenceId(sequence.slot), block);
             ++block)
          pages.push_back(page->raw());
    }
    for (int64_t i = 0; i < writ_session_output_count(opened.session); ++i)
      outputs.push_back(opened.logits(i));
  }
};

class Refusal : public testing::Test {
protected:
  Refusal()
      : opened(toy::alikeModel(), [](writ_session_options &options) {
          options.context_tokens = 20;
          options.max_rows = 16;
          options.max_sequences = 3;
          options.max_outputs = 2;
          options.kv_tokens = 32;
          options.page_size = 4;
          options.poison = 1;
        }) {
    for (int i = 0; i < 2; ++i) {
      sequences.push_back(opened.sequence());
      opened.feed(sequences.back(), toy::tokens(10, uint64_t(i)));
    }
  }

  void refused(const std::vector<writ_step_row> &rows, writ_status expected, const char *text) {
    const Snapshot before(opened, sequences);
    const writ_status status =
        writ_session_step(opened.session, rows.data(), int64_t(rows.size()), &opened.error);
    EXPECT_EQ(status, expected);
    EXPECT_EQ(opened.error.status, expected);
    EXPECT_NE(std::string(opened.error.text).find(text), std::string::npos) << opened.error.text;
    EXPECT_TRUE(Snapshot(opened, sequences) == before) << "a refusal changed something: " << text;
  }
  std::vector<writ_step_row> manyRows(int count, writ_sequence sequence, int32_t output = 0) const {
    std::vector<writ_step_row> rows;
    for (int i = 0; i < count; ++i)
      rows.push_back({sequence, i, output});
    return rows;
  }
  void stillRight() {
    std::vector<int32_t> history = toy::tokens(10, 0);
    history.push_back(5);
    opened.feed(sequences[0], {5});
    EXPECT_EQ(opened.logits(), toy::expectedLogits(history));
  }

  Opened opened;
  std::vector<writ_sequence> sequences;
};

TEST_F(Refusal, F14_ARefusedStepChangesNothing) {
  const writ_sequence good = sequences[0];
  refused({}, WRIT_INVALID_ARGUMENT, "rows is null");
  refused(manyRows(17, good), WRIT_INVALID_ARGUMENT, "count is 17");
  refused({{good, 1, 0}, {{2, 1}, 1, 0}}, WRIT_INVALID_ARGUMENT, "slot 2, generation 1");
  refused({{good, 1, 0}, {{0, 9}, 1, 0}}, WRIT_INVALID_ARGUMENT, "slot 0, generation 9");
  refused({{good, 1, 0}, {{77, 1}, 1, 0}}, WRIT_INVALID_ARGUMENT, "slot 77");
  refused({{good, 1, 0}, {good, -1, 0}}, WRIT_INVALID_ARGUMENT,
          "rows[1] is token -1, expected 0 to 47");
  refused({{good, 48, 0}}, WRIT_INVALID_ARGUMENT, "rows[0] is token 48");
  refused(manyRows(3, good, 1), WRIT_INVALID_ARGUMENT,
          "rows[2] is output 3 of the step, but max_outputs is 2");
  refused(manyRows(11, good), WRIT_CONTEXT_FULL, "rows[10] would be token 21");
  const Snapshot before(opened, sequences);
  const writ_step_row row{good, 1, 0};
  for (const int64_t count : {int64_t(0), int64_t(-1), INT64_MIN, INT64_MAX}) {
    EXPECT_EQ(writ_session_step(opened.session, &row, count, &opened.error), WRIT_INVALID_ARGUMENT);
    EXPECT_NE(std::string(opened.error.text).find(", expected 1 to 16 (max_rows)"),
              std::string::npos)
        << opened.error.text;
  }
  EXPECT_TRUE(Snapshot(opened, sequences) == before);
  stillRight();
}

TEST_F(Refusal, F10_OutOfPagesRollsBackWhatWasReserved) { // CASES 8
  // 8 pages, 3 held by each of two sequences: 2 are free. The first can grow, the second then
  // cannot.
  std::vector<writ_step_row> rows = manyRows(3, sequences[0]);
  const std::vector<writ_step_row> more = manyRows(10, sequences[1]);
  rows.insert(rows.end(), more.begin(), more.end());
  refused(rows, WRIT_OUT_OF_PAGES, "but 2 are free");
  // Exactly the pages that are free fit.
  rows = manyRows(3, sequences[0]);
  for (int i = 0; i < 3; ++i)
    rows.push_back({sequences[1], i, 0});
  EXPECT_EQ(writ_session_step(opened.session, rows.data(), 6, nullptr), WRIT_OK);
  EXPECT_EQ(writ_session_free_pages(opened.session), 0);
}

TEST_F(Refusal, F14_AFaultAtEachStageLeavesTheStateUnchanged) {
  for (const StepStage stage : {StepStage::validated, StepStage::reserved, StepStage::ran}) {
    struct Fault {
      StepStage stage;
      int met = 0;
    } fault{stage};
    opened.session->setFault(
        [](void *user, StepStage now) {
          auto &fault = *static_cast<Fault *>(user);
          fault.met += now == fault.stage;
          return now == fault.stage;
        },
        &fault);
    const Snapshot before(opened, sequences);
    std::vector<writ_step_row> rows = manyRows(9, sequences[0]);
    rows.push_back({sequences[1], 3, 1});
    EXPECT_EQ(writ_session_step(opened.session, rows.data(), 10, nullptr), WRIT_INTERNAL);
    EXPECT_EQ(fault.met, 1);
    Snapshot after(opened, sequences);
    if (stage == StepStage::ran)
      after.outputs = before.outputs; // gone once a step has begun to run, as writ.h says
    EXPECT_TRUE(after == before) << int(stage);
    opened.session->setFault(nullptr, nullptr);
  }
  stillRight();
}

TEST_F(Refusal, F14_AFedPromptIsAllOrNothing) {
  const std::vector<int32_t> ids = toy::tokens(10, 5);
  const auto feed = [&](int64_t count, writ_chunk_callback callback, void *user,
                        const volatile int32_t *stop) {
    return writ_sequence_feed(opened.session, sequences[0], ids.data(), count, WRIT_OUTPUTS_ALL,
                              callback, user, stop, &opened.error);
  };
  const auto state = [&] {
    Snapshot snapshot(opened, sequences);
    snapshot.outputs.clear();
    return snapshot;
  };
  const Snapshot before = state();
  EXPECT_EQ(feed(0, nullptr, nullptr, nullptr), WRIT_INVALID_ARGUMENT);
  EXPECT_EQ(feed(11, nullptr, nullptr, nullptr), WRIT_CONTEXT_FULL);
  EXPECT_TRUE(state() == before);
  // Chunks of max_outputs = 2; the third callback stops.
  int calls = 0;
  EXPECT_EQ(feed(
                8,
                [](void *user, writ_session *, int64_t first, int64_t count) -> int32_t {
                  int &calls = *static_cast<int *>(user);
                  EXPECT_EQ(first, 2 * calls);
                  EXPECT_EQ(count, 2);
                  return ++calls == 3;
                },
                &calls, nullptr),
            WRIT_STOPPED);
  EXPECT_EQ(calls, 3);
  EXPECT_TRUE(state() == before);
  // N20: an exception of the callback stops as well, and goes no further.
  EXPECT_EQ(feed(
                8,
                [](void *, writ_session *, int64_t, int64_t) -> int32_t {
                  throw std::runtime_error("no");
                },
                nullptr, nullptr),
            WRIT_STOPPED);
  EXPECT_TRUE(state() == before);
  const volatile int32_t stop = 1;
  EXPECT_EQ(feed(8, nullptr, nullptr, &stop), WRIT_STOPPED);
  EXPECT_TRUE(state() == before);
  EXPECT_EQ(writ_sequence_feed(opened.session, sequences[0], ids.data(), 4, 3, nullptr, nullptr,
                               nullptr, nullptr),
            WRIT_INVALID_ARGUMENT);
  // Too few pages for all of it: nothing of it.
  const writ_sequence third = opened.sequence();
  EXPECT_EQ(writ_sequence_feed(opened.session, third, ids.data(), 10, WRIT_OUTPUTS_NONE, nullptr,
                               nullptr, nullptr, &opened.error),
            WRIT_OUT_OF_PAGES);
  EXPECT_NE(std::string(opened.error.text).find("need 3 KV pages more, but 2 are free"),
            std::string::npos)
      << opened.error.text;
  EXPECT_TRUE(state() == before);
  stillRight();
}

//===-- sequences -------------------------------------------------------------===//

TEST_F(Refusal, S6_RewindKeepsTheBitsAndStaysInBounds) {
  EXPECT_EQ(writ_sequence_rewind(opened.session, sequences[0], 11, &opened.error),
            WRIT_INVALID_ARGUMENT);
  EXPECT_EQ(writ_sequence_rewind(opened.session, sequences[0], -1, &opened.error),
            WRIT_INVALID_ARGUMENT);
  for (const int64_t length : {10, 8, 5, 4, 0}) {
    ASSERT_EQ(writ_sequence_rewind(opened.session, sequences[0], length, nullptr), WRIT_OK);
    std::vector<int32_t> history = toy::tokens(10, 0);
    history.resize(size_t(length));
    history.push_back(40);
    opened.feed(sequences[0], {40});
    EXPECT_EQ(opened.logits(), toy::expectedLogits(history)) << length;
    ASSERT_EQ(writ_sequence_rewind(opened.session, sequences[0], length, nullptr), WRIT_OK);
  }
}

TEST_F(Refusal, N3_AReleasedHandleIsNeverTakenForItsSuccessor) {
  const writ_sequence old = sequences[0];
  ASSERT_EQ(writ_sequence_release(opened.session, old, nullptr), WRIT_OK);
  EXPECT_EQ(writ_sequence_release(opened.session, old, &opened.error), WRIT_INVALID_ARGUMENT);
  const writ_sequence successor = opened.sequence();
  EXPECT_EQ(successor.slot, old.slot);
  EXPECT_NE(successor.generation, old.generation);
  int64_t length = -1;
  EXPECT_EQ(writ_sequence_length(opened.session, old, &length, nullptr), WRIT_INVALID_ARGUMENT);
  EXPECT_EQ(writ_sequence_length(opened.session, successor, &length, nullptr), WRIT_OK);
  EXPECT_EQ(length, 0);
  opened.sequence();
  writ_sequence fourth{};
  EXPECT_EQ(writ_sequence_create(opened.session, &fourth, &opened.error), WRIT_OUT_OF_SEQUENCES);
}

} // namespace
