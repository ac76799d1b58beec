//===- step_memory.cpp - what a session of a package allocates ------------===//
//
//   step_memory PACKAGE ROWS OUTPUTS THREADS ISA
//
// prints, one `NAME NUMBER` a line:
//   weights_bytes ... session_bytes   what the session says that it allocated
//   taken                             bytes asked of malloc while it was created
//   steps                             prefill, decode and mixed steps that ran, each with sampling
//   allocations                       calls of malloc and its family in them
//
//===----------------------------------------------------------------------===//
#include "counting_malloc.h"
#include "writ/model_abi.h"
#include "writ/writ.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

void require(writ_status status, const writ_error &error) {
  if (status == WRIT_OK)
    return;
  std::fprintf(stderr, "step_memory: %s\n", error.text);
  std::exit(1);
}

void print(const char *name, int64_t number) {
  std::printf("%s %lld\n", name, static_cast<long long>(number));
}

struct Stepper {
  writ_session *session;
  int64_t steps = 0;
  writ_error error{};
  writ_sampling sampling[2];
  int32_t tokens[2] = {5, 6};
  float values[2];

  explicit Stepper(writ_session *session) : session(session) {
    for (writ_sampling &each : sampling) {
      writ_sampling_init(&each);
      each.temperature = 0.8F;
      each.top_k = 40;
      each.top_p = 0.9F;
      each.min_p = 0.01F;
      each.repeat_penalty = 1.1F;
    }
  }

  /// Draws from the outputs of a step, likeliest and at random, and asks what the draw was worth.
  void stepped(writ_status status, int64_t outputs) {
    require(status, error);
    ++steps;
    require(writ_session_sample(session, 0, outputs, nullptr, tokens, &error), error);
    require(writ_session_sample(session, 0, outputs, sampling, tokens, &error), error);
    require(writ_session_log_probabilities(session, 0, outputs, tokens, values, &error), error);
  }

  void run(writ_sequence first, writ_sequence second, const std::vector<int32_t> &prompt) {
    stepped(writ_sequence_feed(session, first, prompt.data(), int64_t(prompt.size()),
                               WRIT_OUTPUTS_LAST, nullptr, nullptr, nullptr, &error),
            1);
    for (int i = 0; i < 40; ++i) { // pages are taken on the way
      const writ_step_row decode{first, tokens[0], 1};
      stepped(writ_session_step(session, &decode, 1, &error), 1);
      const writ_step_row mixed[] = {{first, tokens[0], 1}, {second, 7, 0}, {second, 8, 1}};
      stepped(writ_session_step(session, mixed, 3, &error), 2);
    }
  }
};

} // namespace

int main(int argc, char **argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: step_memory PACKAGE ROWS OUTPUTS THREADS ISA\n");
    return 2;
  }
  writ_error error{};
  writ_package *package = nullptr;
  require(writ_package_open(argv[1], nullptr, &package, &error), error);
  writ_session_options options;
  writ_session_options_init(&options);
  options.max_rows = std::atoll(argv[2]);
  options.max_outputs = std::atoll(argv[3]);
  options.threads = std::atoi(argv[4]);
  options.isa = writ_isa_from_name(argv[5]);
  options.max_sequences = 2;
  writ_session *session = nullptr;
  const int64_t before = counting::bytes();
  require(writ_session_create(package, &options, &session, &error), error);
  const int64_t taken = counting::bytes() - before;
  writ_memory_plan memory{};
  memory.struct_size = sizeof memory;
  require(writ_session_get_memory(session, &memory, &error), error);
  print("weights_bytes", memory.weights_bytes);
  print("kv_bytes_per_token", memory.kv_bytes_per_token);
  print("row_arena_bytes", memory.row_arena_bytes);
  print("output_arena_bytes", memory.output_arena_bytes);
  print("session_bytes", memory.session_bytes);
  print("taken", taken);

  writ_sequence first, second;
  require(writ_sequence_create(session, &first, &error), error);
  require(writ_sequence_create(session, &second, &error), error);
  std::vector<int32_t> prompt(3 * size_t(options.max_rows));
  for (size_t i = 0; i < prompt.size(); ++i)
    prompt[i] = int32_t(3 + i % 100);
  Stepper stepper(session);
  const int64_t allocations = counting::allocationsOf([&] { stepper.run(first, second, prompt); });
  print("steps", stepper.steps);
  print("allocations", allocations);
  require(writ_session_destroy(session, &error), error);
  require(writ_package_close(package, &error), error);
}
