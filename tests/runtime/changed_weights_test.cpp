//===- changed_weights_test.cpp - weights that change under an open package -===//

#include "toy_package.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

namespace fs = std::filesystem;
using toy::Opened;

namespace {

void small(writ_session_options &options) {
  options.context_tokens = 64;
  options.max_rows = 16;
  options.threads = 3;
}

/// What a step may not do: lengths, pages and the refusal of `text`.
void stepFails(Opened &opened, writ_sequence sequence, const std::string &text) {
  const int64_t pages = writ_session_free_pages(opened.session);
  int64_t before = -1, after = -2;
  ASSERT_EQ(writ_sequence_length(opened.session, sequence, &before, nullptr), WRIT_OK);
  std::vector<writ_step_row> rows(12, writ_step_row{sequence, 5, 1});
  writ_error error{};
  for (size_t i = 1; i < rows.size(); ++i)
    rows[i].output = 0;
  EXPECT_EQ(writ_session_step(opened.session, rows.data(), int64_t(rows.size()), &error),
            WRIT_IO_ERROR)
      << error.text;
  EXPECT_NE(std::string(error.text).find(text), std::string::npos) << error.text;
  ASSERT_EQ(writ_sequence_length(opened.session, sequence, &after, nullptr), WRIT_OK);
  EXPECT_EQ(after, before);
  EXPECT_EQ(writ_session_free_pages(opened.session), pages);
}

TEST(ChangedWeights, C10_AFileThatBecameShorterIsAnErrorOfTheNextStep) {
  Opened opened(toy::alikeModel(), small);
  const writ_sequence sequence = opened.sequence();
  opened.feed(sequence, {1, 2, 3});
  fs::resize_file(opened.file("weights.safetensors"), 0);
  stepFails(opened, sequence, "weights.safetensors has 0 bytes, but had 640 when it was opened");
  stepFails(opened, sequence, "weights.safetensors has 0 bytes");
}

TEST(ChangedWeights, C10_AFileThatWasWrittenToIsAnErrorOfTheNextStep) {
  Opened opened(toy::alikeModel(), small);
  const writ_sequence sequence = opened.sequence();
  opened.feed(sequence, {1, 2, 3});
  const std::string path = opened.file("weights.safetensors");
  std::string bytes = toy::readFile(path);
  bytes[300] ^= 1; // read by the next step: the mapping is shared
  toy::writeFile(path, bytes);
  // A file system's clock may be coarser than this test is quick.
  fs::last_write_time(path, fs::last_write_time(path) + std::chrono::seconds(1));
  stepFails(opened, sequence, "weights.safetensors was written to since it was opened");
}

TEST(ChangedWeights, C10_AFileThatWasReplacedOrRemovedIsStillTheOneThatWasOpened) {
  Opened opened(toy::alikeModel(), small);
  const writ_sequence sequence = opened.sequence();
  opened.feed(sequence, {1, 2});
  const std::string path = opened.file("weights.safetensors");
  toy::writeFile(path + ".new", "other weights");
  fs::rename(path + ".new", path);
  opened.feed(sequence, {3});
  fs::remove(path);
  opened.feed(sequence, {4});
  EXPECT_EQ(opened.logits(), toy::expectedLogits({1, 2, 3, 4}));
}

//===-- while a step runs ------------------------------------------------------===//

#ifndef TOY_SANITIZED // a sanitizer handles SIGBUS itself

std::string truncatedFile; ///< by the next run of an entry
std::atomic<const writ_package *> guarded{nullptr};
std::atomic<int> faults{0};

void truncateThenRun(const writ_step *step) {
  if (!truncatedFile.empty())
    fs::resize_file(truncatedFile, 0);
  toy::alikeModel()->prefill(step);
}

writ_model_desc truncatingModel() {
  writ_model_desc model = *toy::alikeModel();
  model.prefill = model.decode = truncateThenRun;
  return model;
}

void onBusError(int signal, siginfo_t *info, void *) {
  ++faults;
  if (!writ_package_contain_fault(guarded.load(), info->si_addr))
    std::signal(signal, SIG_DFL);
}

TEST(ChangedWeights, C10_WithAHandlerAFaultDuringAStepIsAnErrorOfTheStep) {
  struct sigaction action {
  }, saved{};
  action.sa_sigaction = onBusError;
  action.sa_flags = SA_SIGINFO;
  ASSERT_EQ(sigaction(SIGBUS, &action, &saved), 0);
  for (const int32_t threads : {1, 3}) { // a worker's fault too
    const writ_model_desc model = truncatingModel();
    Opened opened(&model, [&](writ_session_options &options) {
      small(options);
      options.threads = threads;
    });
    const writ_sequence sequence = opened.sequence();
    opened.feed(sequence, {1, 2, 3});
    EXPECT_EQ(opened.logits(), toy::expectedLogits({1, 2, 3}));
    guarded = opened.package;
    faults = 0;
    truncatedFile = opened.file("weights.safetensors");
    stepFails(opened, sequence, "weights.safetensors has 0 bytes, but had 640");
    EXPECT_GE(faults, 1) << "the step did not meet the missing page";
    truncatedFile.clear();
    stepFails(opened, sequence, "weights.safetensors has 0 bytes, but had 640");
    EXPECT_EQ(writ_package_contain_fault(opened.package, &faults), 0) << "an address elsewhere";
  }
  truncatedFile.clear();
  guarded = nullptr;
  sigaction(SIGBUS, &saved, nullptr);
}

TEST(ChangedWeights, NegativeControl_WithoutAHandlerItEndsTheProcess) {
  EXPECT_EXIT(
      {
        std::signal(SIGBUS, SIG_DFL);
        const writ_model_desc model = truncatingModel();
        Opened opened(&model, [](writ_session_options &options) { options.threads = 1; });
        truncatedFile = opened.file("weights.safetensors");
        opened.feed(opened.sequence(), {1});
        std::exit(0);
      },
      testing::KilledBySignal(SIGBUS), "");
}

#endif

TEST(ChangedWeights, C10_AContainedFaultIsNotForgottenWhereTheFileIsWhole) {
  Opened opened(toy::alikeModel(), small);
  const writ_sequence sequence = opened.sequence();
  opened.feed(sequence, {1, 2, 3});
  // What a failing disk does: the file keeps its size and time. The mapping's address is found from
  // the step that is given the weights.
  const void *weights = nullptr;
  {
    writ_session_options options;
    writ_session_options_init(&options);
    options.trace_user = &weights;
    options.trace = [](void *user, const writ_step *step, uint32_t, const writ_provider *,
                       const void *) { *static_cast<const void **>(user) = step->weights; };
    writ_session *traced = nullptr;
    writ_sequence other{};
    const int32_t token = 1;
    ASSERT_EQ(writ_session_create(opened.package, &options, &traced, nullptr), WRIT_OK);
    ASSERT_EQ(writ_sequence_create(traced, &other, nullptr), WRIT_OK);
    ASSERT_EQ(writ_sequence_feed(traced, other, &token, 1, WRIT_OUTPUTS_NONE, nullptr, nullptr,
                                 nullptr, nullptr),
              WRIT_OK);
    ASSERT_EQ(writ_session_destroy(traced, nullptr), WRIT_OK);
  }
  ASSERT_NE(weights, nullptr);
  EXPECT_EQ(writ_package_contain_fault(nullptr, weights), 0);
  EXPECT_EQ(writ_package_contain_fault(opened.package, weights), 1);
  stepFails(opened, sequence, "weights.safetensors: a part of it could not be read");
}

} // namespace
