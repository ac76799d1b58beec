//===- Options.cpp - options that several commands share ------------------===//
//
// CLI11 cuts a number to what its type holds and prints ranges with 309 digits, so that numbers are
// read here.
//
//===----------------------------------------------------------------------===//
#include "compiler/Tools/writ/Options.h"

#include "compiler/Tools/writ/Session.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <functional>
#include <limits>

namespace writ::tool {
namespace {

constexpr const char *kCompileGroup = "Options of a model file";

/// What an option takes; `rule` says it in words, in a refusal.
template <typename Number> struct Range {
  Number first, last;
  const char *rule;
  bool openBelow = false; ///< `first` itself is not taken

  /// False for a NaN.
  bool contains(Number value) const {
    return (openBelow ? value > first : value >= first) && value <= last;
  }
};

constexpr int64_t kMostInteger = std::numeric_limits<int64_t>::max();
constexpr float kMostReal = std::numeric_limits<float>::max();

template <typename Number>
Number parseNumber(const std::string &option, const std::string &text, const Range<Number> &range) {
  Number value{};
  const char *end = text.data() + text.size();
  const auto [next, code] = std::from_chars(text.data(), end, value);
  if (code == std::errc::result_out_of_range)
    throw UsageError(
        {option}, "E051",
        fmt::format("'{}' is beyond what can be represented, expected {}", text, range.rule));
  if (code != std::errc() || next != end || !range.contains(value))
    throw UsageError({option}, "E051", fmt::format("'{}' is not {}", text, range.rule));
  return value;
}

/// Of an option's names, the one that a refusal shows: "-p,--n-prompt" is "--n-prompt".
std::string shownName(const std::string &names) {
  return names.substr(names.rfind(',') + 1);
}

/// An option whose text is read as a number of the range.
template <typename Number>
CLI::Option *addNumber(CLI::App *app, const std::string &names, Number &target, Range<Number> range,
                       const std::string &description) {
  const std::string name = shownName(names);
  return app
      ->add_option_function<std::string>(
          names, [=, &target](const std::string &text) { target = parseNumber(name, text, range); },
          description)
      ->type_name("N");
}

/// An option that takes numbers of the range with commas between them, and may be repeated.
template <typename Number>
void addNumbers(CLI::App *app, const std::string &names, std::vector<Number> &target,
                Range<Number> range, const std::string &description) {
  const std::string name = shownName(names);
  app->add_option_function<std::vector<std::string>>(
         names,
         [=, &target](const std::vector<std::string> &texts) {
           target.clear();
           const std::string all = fmt::format("{}", fmt::join(texts, ","));
           for (size_t begin = 0, end; begin <= all.size(); begin = end + 1) {
             end = std::min(all.find(',', begin), all.size());
             target.push_back(parseNumber(name, all.substr(begin, end - begin), range));
           }
         },
         description)
      ->type_name("LIST")
      ->allow_extra_args(false);
}

/// "1,3": one value for A and one for B; "3": for both.
void addSides(CLI::App *sub, const std::string &names, const std::string &type,
              std::function<void(TraceSide &, const std::string &)> set, TraceCommand &command,
              const std::string &description) {
  sub->add_option_function<std::string>(
         names,
         [=, &command](const std::string &text) {
           const size_t comma = text.find(',');
           if (comma != std::string::npos && text.find(',', comma + 1) != std::string::npos)
             throw UsageError(
                 {shownName(names)}, "E051",
                 fmt::format("'{}' has more than two values; one is for both runs, two "
                             "are for A and for B",
                             text));
           set(command.a, text.substr(0, comma));
           set(command.b, comma == std::string::npos ? text : text.substr(comma + 1));
         },
         description)
      ->type_name(type + "[," + type + "]");
}

constexpr Range<int> kThreads{1, 1024, "a whole number from 1 to 1024"};

int64_t parseChunk(const std::string &text) {
  if (text == "whole")
    return kWholePrompt;
  return parseNumber<int64_t>("--chunk", text,
                              {1, kMostInteger, "a whole number of tokens, 1 or more, or 'whole'"});
}

std::string isaNames() {
  std::vector<std::string> known;
  while (const char *name = writ_isa_name(int32_t(known.size())))
    known.push_back(name);
  return fmt::format("{}", fmt::join(known, ", "));
}

int32_t parseIsa(const std::string &text, const char *option = "--isa") {
  const int32_t isa = writ_isa_from_name(text.c_str());
  if (isa >= 0)
    return isa;
  throw UsageError({option}, "E051", fmt::format("'{}' is not an instruction set", text),
                   {{{}, "known: " + isaNames()}});
}

std::string parseStop(const std::string &text) {
  if (text.empty())
    throw UsageError({"--stop"}, "E051", "the text is empty; a generation ends at some text");
  return text;
}

/// How the steps of a session run.
void addStepOptions(CLI::App *app, SessionOptions &options) {
  app->add_option_function<std::string>(
         "--chunk", [&](const std::string &text) { options.chunk = parseChunk(text); },
         "prompt tokens of one step, or 'whole' (default: 512)")
      ->type_name("N");
  app->add_option_function<std::string>(
         "--isa", [&](const std::string &text) { options.isa = parseIsa(text); },
         isaNames() + " (default: the machine's best)")
      ->type_name("NAME");
  app->add_flag("--pin", options.pin, "bind each thread to a processor of its own");
  app->add_flag("--verify", options.verify, "hash the weights again");
}

/// The ranges are those of writ_sampling.
void addSamplingOptions(CLI::App *sub, RunCommand &command) {
  addNumber<float>(sub, "--temperature", command.temperature, {0, kMostReal, "a number, 0 or more"},
                   "0: always the likeliest token")
      ->default_str("0");
  addNumber<int64_t>(sub, "--top-k", command.topK, {0, kMostInteger, "a whole number, 0 or more"},
                     "draw among the k likeliest; 0: all");
  addNumber<float>(sub, "--top-p", command.topP, {0, 1, "a number above 0, at most 1", true},
                   "draw among the likeliest that sum to p");
  addNumber<float>(sub, "--min-p", command.minP, {0, 1, "a number from 0 to 1"},
                   "drop tokens below p times the likeliest");
  addNumber<float>(sub, "--repeat-penalty", command.repeatPenalty,
                   {0, kMostReal, "a number above 0", true},
                   "above 1 discourages the last 64 tokens");
  addNumber<uint64_t>(
      sub, "--seed", command.seed,
      {0, std::numeric_limits<uint64_t>::max(), "a whole number from 0 to 2^64 - 1"},
      "of the random numbers")
      ->default_str("0");
}

} // namespace

CLI::Option *addDataOption(CLI::App *app, std::string &data) {
  return app->add_option(
      "--data", data,
      "folder with contracts/, kernel_maps/ and circuits/ (default: the installed ones)");
}

void addCompileOptions(CLI::App *app, CompileOptions &options) {
  app->add_option("--profile", options.profile, "numerical profile: the contract of every op")
      ->capture_default_str()
      ->group(kCompileGroup);
  app->add_option("--target", options.target, "what the package runs on")
      ->capture_default_str()
      ->group(kCompileGroup);
  app->add_option("--kv", options.kv,
                  "storage of K and V, one that the profile has (default: the circuit's)")
      ->type_name("STORAGE")
      ->group(kCompileGroup);
  app->add_option_function<std::string>(
         "--least-isa",
         [&](const std::string &text) { options.leastIsa = parseIsa(text, "--least-isa"); },
         "refuse to run where the processor lacks this instruction set (default: scalar, runs "
         "everywhere)")
      ->type_name("NAME")
      ->group(kCompileGroup);
  addDataOption(app, options.data)->group(kCompileGroup);
  app->add_option("--cxx", options.cxx, "host compiler of the emitted code (default: c++)")
      ->group(kCompileGroup);
  app->add_option("--require", options.require,
                  "refuse a contract that does not derive these invariances: run, threads, batch, "
                  "chunking, isa, device, compiler; separated by commas")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAMES")
      ->group(kCompileGroup);
  app->add_flag("--bringup", options.bringup,
                "accept providers without current evidence; the package is marked as not for "
                "production")
      ->group(kCompileGroup);
}

std::vector<std::string> givenCompileOptions(const CLI::App &app) {
  std::vector<std::string> names;
  for (const CLI::Option *option : app.get_options(
           [](const CLI::Option *o) { return o->get_group() == kCompileGroup && o->count() > 0; }))
    names.push_back(option->get_name());
  return names;
}

void addSessionOptions(CLI::App *app, SessionOptions &options) {
  addNumber<int>(app, "--threads", options.threads, kThreads,
                 "threads (default: one for each processor)");
  addNumber<int64_t>(app, "--ctx", options.context,
                     {1, kMostInteger, "a whole number of tokens, 1 or more"},
                     "longest sequence in tokens");
  addStepOptions(app, options);
}

void addBenchOptions(CLI::App *sub, BenchCommand &command) {
  const Range<int64_t> tokens{0, kMostInteger, "a whole number of tokens, 0 or more"};
  addNumbers(sub, "-p,--n-prompt", command.prompts, tokens,
             "tokens of a prefill; 0: none (default: 512)");
  addNumbers(sub, "-n,--n-gen", command.generated, tokens,
             "tokens of a decode; 0: none (default: 128)");
  addNumbers(sub, "-d,--n-depth", command.depths, tokens,
             "tokens that the sequence holds before (default: 0)");
  addNumbers(sub, "-t,--threads", command.threads, kThreads,
             "threads (default: one for each processor)");
  addNumber<int64_t>(sub, "-r,--repetitions", command.repetitions,
                     {1, kMostInteger, "a whole number, 1 or more"},
                     "runs of each test that count; one more before them does not")
      ->default_str(std::to_string(command.repetitions));
  addStepOptions(sub, command.session);
}

void addTraceOptions(CLI::App *sub, TraceCommand &command) {
  const auto number = [&](const char *name, auto field, Range<int64_t> range,
                          const char *description) {
    addSides(
        sub, name, "N",
        [=](TraceSide &side, const std::string &text) {
          field(side) = parseNumber<int64_t>(name, text, range);
        },
        command, description);
  };
  addNumber<int64_t>(sub, "-n,--tokens", command.tokens,
                     {1, kMostInteger, "a whole number of tokens, 1 or more"},
                     "tokens of a made-up history (default: 640, or the model's context)");
  addSides(
      sub, "--threads", "N",
      [](TraceSide &side, const std::string &text) {
        side.session.threads = parseNumber("--threads", text, kThreads);
      },
      command, "threads (default: one for each processor)");
  addSides(
      sub, "--chunk", "N",
      [](TraceSide &side, const std::string &text) { side.session.chunk = parseChunk(text); },
      command, "tokens of one step, or 'whole' (default: 512)");
  addSides(
      sub, "--isa", "NAME",
      [](TraceSide &side, const std::string &text) { side.session.isa = parseIsa(text); }, command,
      "scalar, avx2 or avx512 (default: the machine's best)");
  number(
      "--batch", [](TraceSide &side) -> int64_t & { return side.batch; },
      {1, 1024, "a whole number from 1 to 1024"}, "sequences with the history in each step");
  number(
      "--page-size", [](TraceSide &side) -> int64_t & { return side.pageSize; },
      {1, 65536, "a whole number from 1 to 65536"}, "tokens of a KV page (default: 32)");
  number(
      "--rewind", [](TraceSide &side) -> int64_t & { return side.rewind; },
      {0, kMostInteger, "a whole number of tokens, 0 or more"},
      "other tokens that are read first and rewound");
  addSides(
      sub, "--page-order", "N",
      [](TraceSide &side, const std::string &text) {
        side.pageOrder = parseNumber<uint64_t>(
            "--page-order", text,
            {0, std::numeric_limits<uint64_t>::max(), "a whole number from 0 to 2^64 - 1"});
      },
      command, "seed of the order of KV pages; 0: ascending");
  sub->add_option("--save", command.save, "write A's trace to this file, and compare nothing");
  sub->add_option("--against", command.against,
                  "a saved trace, which takes the place of A; what is named is B");
}

void addProfileOptions(CLI::App *sub, ProfileCommand &command) {
  const Range<int64_t> tokens{0, kMostInteger, "a whole number of tokens, 0 or more"};
  addNumber<int64_t>(sub, "-p,--n-prompt", command.prompt, tokens, "tokens of the prefill; 0: none")
      ->default_str("512");
  addNumber<int64_t>(sub, "-n,--n-gen", command.generated, tokens, "tokens of the decode; 0: none")
      ->default_str("32");
  addNumber<int64_t>(sub, "-d,--n-depth", command.depth, tokens,
                     "tokens that the sequence holds before")
      ->default_str("0");
  addNumber<int>(sub, "-t,--threads", command.session.threads, kThreads,
                 "threads (default: one for each processor)");
  addNumber<int64_t>(sub, "-r,--repetitions", command.repetitions,
                     {1, kMostInteger, "a whole number, 1 or more"},
                     "runs of each phase, of which the fastest counts")
      ->default_str("3");
  addNumber<int64_t>(sub, "--calls", command.calls, {0, kMostInteger, "a whole number, 0 or more"},
                     "slowest calls of each phase that are printed")
      ->default_str("10");
  addStepOptions(sub, command.session);
}

void addGenerationOptions(CLI::App *sub, RunCommand &command) {
  addNumber<int64_t>(sub, "--max-tokens", command.maxTokens,
                     {0, kMostInteger, "a whole number, 0 or more"}, "tokens to generate at most")
      ->default_str(std::to_string(command.maxTokens));
  // One text for each --stop: what follows it is the target.
  sub->add_option_function<std::vector<std::string>>(
         "--stop",
         [&](const std::vector<std::string> &texts) {
           for (const std::string &text : texts)
             command.stop.push_back(parseStop(text));
         },
         "text that ends the generation; may be repeated")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  addSamplingOptions(sub, command);
}

} // namespace writ::tool
