//===- Run.cpp - `writ run` -----------------------------------------------===//
#include "compiler/Support/FileIO.h"
#include "compiler/Tools/writ/Compile.h"
#include "compiler/Tools/writ/Output.h"
#include "compiler/Tools/writ/ProgressLine.h"
#include "compiler/Tools/writ/Session.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fmt/format.h>
#include <unistd.h>

namespace writ::tool {
namespace {

/// Puts the text where the line of progress was.
struct Printer {
  ReadingLine reading;
  std::exception_ptr failure{}; ///< none may leave a callback

  static int32_t take(void *user, const char *text, int64_t bytes) {
    Printer &self = *static_cast<Printer *>(user);
    try {
      self.reading.clear();
      print({text, size_t(bytes)});
      flushOutput();
      return 0;
    } catch (...) {
      self.failure = std::current_exception();
      return 1;
    }
  }
};

std::vector<int32_t> chatIds(const writ_package *package, const RunCommand &command) {
  std::vector<writ_message> messages;
  if (command.system)
    messages.push_back({"system", command.system->c_str()});
  messages.push_back({"user", command.chat->c_str()});
  writ_error error;
  int64_t needed = 0;
  writ_status status = writ_chat_tokenize(package, messages.data(), int64_t(messages.size()),
                                          nullptr, 0, &needed, &error);
  if (status == WRIT_UNSUPPORTED)
    throw Error({command.target}, "E050", error.text,
                {{{}, "--prompt takes the whole text, control tokens included"}});
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

/// Kilobytes of this program alone. What getrusage says begins with what the process held before it
/// became this program.
long peakKilobytes() {
  const std::string key = "VmHWM:", status = readFile("/proc/self/status");
  const size_t at = status.find(key);
  return at == std::string::npos ? 0 : std::atol(status.c_str() + at + key.size());
}

void printStats(const writ_session *session, const writ_generate_result &result) {
  const writ_session_options used = usedOptions(session);
  std::fputs(
      fmt::format("prefill: {} tokens, {:.1f} tokens/s\n"
                  "decode: {} tokens, {:.1f} tokens/s\n"
                  "peak memory: {:.1f} MB\n"
                  "threads: {}, isa: {}\n",
                  result.prompt_tokens, rate(result.prompt_tokens, result.prefill_nanoseconds),
                  result.generated_tokens, rate(result.decode_steps, result.decode_nanoseconds),
                  double(peakKilobytes()) * 1.024 / 1000.0, used.threads, writ_isa_name(used.isa))
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
  const writ_package_info info = packageInfo(package.get());
  SessionShape shape;
  shape.tokens = int64_t(ids.size());
  const int64_t room = std::max<int64_t>(info.context_length - shape.tokens, 0);
  shape.longest = shape.tokens + std::min(room, command.maxTokens);
  Printer printer{{"reading the prompt", shape.tokens}};
  shape.reading = &printer.reading;
  SessionPtr session = openSession(package.get(), command.session, shape);
  writ_sequence sequence;
  writ_error error;
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
  options.callback = Printer::take;
  options.user = &printer;
  options.stop = stop;
  writ_generate_result result{};
  result.struct_size = sizeof result;
  const writ_status status = writ_generate(session.get(), sequence, ids.data(), int64_t(ids.size()),
                                           &options, &result, &error);
  printer.reading.clear();
  if (printer.failure)
    std::rethrow_exception(printer.failure);
  if (status == WRIT_OK && *stop && result.prompt_tokens == 0)
    throw Interrupted();
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
