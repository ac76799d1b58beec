//===- Run.cpp - `writ run` -----------------------------------------------===//
#include "compiler/Support/FileIO.h"
#include "compiler/Tools/writ/Compile.h"
#include "compiler/Tools/writ/Output.h"
#include "compiler/Tools/writ/ProgressLine.h"
#include "compiler/Tools/writ/Session.h"

#include <chrono>
#include <cstdio>
#include <exception>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

namespace writ::tool {
namespace {

/// `user` is the std::exception_ptr that a failure is kept in: none may leave a callback.
int32_t printText(void *user, const char *text, int64_t bytes) {
  try {
    print({text, size_t(bytes)});
    flushOutput();
    return 0;
  } catch (...) {
    *static_cast<std::exception_ptr *>(user) = std::current_exception();
    return 1;
  }
}

std::vector<int32_t> chatIds(const writ_package *package, const RunCommand &command) {
  std::vector<writ_message> messages;
  if (command.system)
    messages.push_back({"system", command.system->c_str()});
  messages.push_back({"user", command.chat->c_str()});
  writ_error error;
  int64_t needed = 0;
  writ_status status = writ_chat_tokenize(package, messages.data(), int64_t(messages.size()),
                                          nullptr, 0, &needed, &error);
  if (status != WRIT_BUFFER_TOO_SMALL)
    check(status, error, command.target);
  std::vector<int32_t> ids(needed);
  check(writ_chat_tokenize(package, messages.data(), int64_t(messages.size()), ids.data(), needed,
                           &needed, &error),
        error, command.target);
  return ids;
}

std::vector<int32_t> promptIds(const writ_package *package, const RunCommand &command) {
  if (command.chat)
    return chatIds(package, command);
  std::string text;
  if (command.prompt)
    text = *command.prompt;
  else if (command.promptFile)
    text = readFile(*command.promptFile);
  else {
    if (isatty(STDIN_FILENO))
      std::fprintf(stderr, "writ: reading the prompt from the terminal; end it with Ctrl-D\n");
    text = readStandardInput();
  }
  return tokenizeText(package, text, WRIT_TOKENIZE_ADD_SPECIAL | WRIT_TOKENIZE_PARSE_SPECIAL);
}

/// Feeds all of the prompt but its last step, which the generation begins with: the steps are those
/// of the whole, and between them it is shown how far they are. Returns how many tokens were fed.
struct Fed {
  writ_status status = WRIT_OK;
  int64_t tokens = 0, nanoseconds = 0;
};
Fed feedPrompt(writ_session *session, writ_sequence sequence, const std::vector<int32_t> &ids,
               const volatile int32_t *stop, writ_error *error) {
  writ_session_options used{};
  used.struct_size = sizeof used;
  writ_session_get_options(session, &used, nullptr);
  Fed fed;
  fed.tokens = (int64_t(ids.size()) - 1) / used.max_rows * used.max_rows;
  if (fed.tokens == 0)
    return fed;
  struct Reading {
    ProgressLine line{"reading the prompt"};
    double total;
    static int32_t take(void *user, writ_session *, int64_t first, int64_t) {
      Reading &self = *static_cast<Reading *>(user);
      self.line.show(double(first) / self.total);
      return 0;
    }
  } reading;
  reading.total = double(ids.size());
  const auto start = std::chrono::steady_clock::now();
  fed.status = writ_sequence_feed(session, sequence, ids.data(), fed.tokens, WRIT_OUTPUTS_NONE,
                                  Reading::take, &reading, stop, error);
  fed.nanoseconds =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start)
          .count();
  return fed;
}

double rate(int64_t tokens, int64_t nanoseconds) {
  return nanoseconds > 0 ? double(tokens) * 1e9 / double(nanoseconds) : 0;
}

/// The user asked for more than the sequence could hold.
void noteFullContext(const writ_package_info &info, int64_t given) {
  const bool isLower = given && given < info.context_length;
  std::fprintf(stderr, "writ: note: the text ends because the context of %lld tokens is full%s\n",
               static_cast<long long>(isLower ? given : info.context_length),
               isLower ? "; raise --ctx" : "");
}

void printStats(const writ_session *session, const writ_generate_result &result) {
  writ_session_options used{};
  used.struct_size = sizeof used;
  writ_session_get_options(session, &used, nullptr);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::fputs(
      fmt::format("prefill: {} tokens, {:.1f} tokens/s\n"
                  "decode: {} tokens, {:.1f} tokens/s\n"
                  "peak memory: {:.1f} MB\n"
                  "threads: {}, isa: {}\n",
                  result.prompt_tokens, rate(result.prompt_tokens, result.prefill_nanoseconds),
                  result.generated_tokens, rate(result.decode_steps, result.decode_nanoseconds),
                  double(usage.ru_maxrss) / 1000.0, used.threads, writ_isa_name(used.isa))
          .c_str(),
      stderr);
}

} // namespace

int runRun(const RunCommand &command) {
  if (command.system && !command.chat)
    throw UsageError({"--system"}, "E051", "a system message needs --chat");
  const volatile int32_t *stop = interruptFlag();
  PackagePtr package = openTarget(command.target, command.compile, command.session.verify);
  const std::vector<int32_t> ids = promptIds(package.get(), command);
  if (ids.empty())
    throw Error(
        {command.target}, "E051",
        "the prompt is empty, and this model begins with no token of its own; give at least "
        "one token");
  writ_package_info info{};
  info.struct_size = sizeof info;
  writ_error error;
  check(writ_package_get_info(package.get(), &info, &error), error, command.target);
  SessionShape shape;
  shape.tokens = int64_t(ids.size());
  const int64_t room = std::max<int64_t>(info.context_length - shape.tokens, 0);
  shape.longest = shape.tokens + std::min(room, command.maxTokens);
  SessionPtr session = openSession(package.get(), command.session, shape);
  writ_sequence sequence;
  check(writ_sequence_create(session.get(), &sequence, &error), error, command.target);

  writ_sampling sampling;
  writ_sampling_init(&sampling);
  sampling.temperature = command.temperature;
  sampling.top_k = command.topK;
  sampling.top_p = command.topP;
  sampling.min_p = command.minP;
  sampling.repeat_penalty = command.repeatPenalty;
  sampling.seed = command.seed;
  std::vector<const char *> stops;
  for (const std::string &text : command.stop)
    stops.push_back(text.c_str());
  writ_generate_options options;
  writ_generate_options_init(&options);
  options.max_tokens = command.maxTokens;
  options.sampling = &sampling;
  options.stop_strings = stops.data();
  options.stop_count = int64_t(stops.size());
  options.ignore_end = command.ignoreEnd;
  std::exception_ptr failure;
  options.callback = printText;
  options.user = &failure;
  options.stop = stop;
  writ_generate_result result{};
  result.struct_size = sizeof result;
  const Fed fed = feedPrompt(session.get(), sequence, ids, stop, &error);
  if (fed.status == WRIT_STOPPED)
    throw Interrupted();
  check(fed.status, error, command.target);
  const writ_status status =
      writ_generate(session.get(), sequence, ids.data() + fed.tokens,
                    int64_t(ids.size()) - fed.tokens, &options, &result, &error);
  result.prompt_tokens += fed.tokens;
  result.prefill_nanoseconds += fed.nanoseconds;
  if (failure)
    std::rethrow_exception(failure);
  if (status == WRIT_OK && command.maxTokens > 0)
    printLine("");
  flushOutput();
  check(status, error, command.target);
  if (result.finish == WRIT_FINISH_CONTEXT)
    noteFullContext(info, command.session.context);
  if (command.stats)
    printStats(session.get(), result);
  return *stop ? exitInterrupted : exitOk;
}

} // namespace writ::tool
