//===- Bench.cpp - `writ bench` -------------------------------------------===//
//
// What llama-bench measures, in its words: a prefill ("pp") of some tokens in steps with the logits
// of the last one, and a decode ("tg") of tokens one by one with the logits of each, both behind
// `n_depth` tokens. Tokens are given, not drawn.
//
//===----------------------------------------------------------------------===//
#include "compiler/Support/FileIO.h"
#include "compiler/Support/Utf8.h"
#include "compiler/Tools/writ/Compile.h"
#include "compiler/Tools/writ/Output.h"
#include "compiler/Tools/writ/ProgressLine.h"
#include "compiler/Tools/writ/Session.h"
#include "compiler/Tools/writ/Tokens.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace writ::tool {
namespace {

/// One of `prompt` and `generated` is 0.
struct Test {
  int64_t prompt = 0, generated = 0, depth = 0;

  int64_t tokens() const { return prompt + generated; }
  std::string name() const {
    return fmt::format("{}{}{}", prompt ? "pp" : "tg", tokens(),
                       depth ? fmt::format(" @ d{}", depth) : "");
  }
};

/// The tests at one depth, in llama-bench's order: prefill, then decode.
std::vector<Test> testsAt(const BenchCommand &command, int64_t depth) {
  std::vector<Test> tests;
  for (int64_t tokens : command.prompts)
    if (tokens)
      tests.push_back({tokens, 0, depth});
  for (int64_t tokens : command.generated)
    if (tokens)
      tests.push_back({0, tokens, depth});
  return tests;
}

/// The longest must fit, before anything is measured.
void requireContext(const BenchCommand &command, int64_t context) {
  for (const auto &[option, list] :
       {std::pair{"--n-prompt", &command.prompts}, std::pair{"--n-gen", &command.generated}})
    for (int64_t tokens : *list)
      for (int64_t depth : command.depths)
        if (tokens && (depth > context || tokens > context - depth))
          throw Error({option}, "E051",
                      fmt::format("{} tokens at depth {} do not fit into the model's context of {}",
                                  tokens, depth, context));
}

std::string processorName() {
  const std::string key = "model name", text = readFile("/proc/cpuinfo");
  const size_t at = text.find(key);
  if (at == std::string::npos)
    return "";
  const size_t begin = text.find(": ", at), end = text.find('\n', at);
  return begin < end ? text.substr(begin + 2, end - begin - 2) : "";
}

std::string timeNow() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[sizeof "2026-01-31T12:00:00Z"];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

struct Statistics {
  double mean = 0, deviation = 0; ///< of the sample; 0 for one value
};
template <typename Number> Statistics statisticsOf(const std::vector<Number> &values) {
  Statistics result;
  for (Number value : values)
    result.mean += double(value) / double(values.size());
  for (Number value : values)
    result.deviation += (double(value) - result.mean) * (double(value) - result.mean);
  result.deviation =
      values.size() > 1 ? std::sqrt(result.deviation / double(values.size() - 1)) : 0;
  return result;
}

/// A session and its one sequence, which holds `depth` tokens before each run.
class Bench {
public:
  /// Both live longer.
  Bench(const writ_package *package, const SessionOptions &options, const std::vector<Test> &tests,
        const volatile int32_t *stop)
      : depth(tests.front().depth), stop(stop) {
    SessionShape shape{std::max<int64_t>(depth, 1), 0};
    for (const Test &test : tests) {
      shape.tokens = std::max(shape.tokens, test.prompt);
      shape.longest = std::max(shape.longest, depth + test.tokens());
    }
    session = openSession(package, options, shape);
    writ_error error;
    check(writ_sequence_create(session.get(), &sequence, &error), error, "sequence");
    const writ_package_info info = packageInfo(package);
    ids = someTokens(info.vocabulary, info.bos_token, shape.longest);
    if (depth)
      feedDepth();
  }

  writ_session_options options() const { return usedOptions(session.get()); }

  /// Runs the test once more than asked for: the first run, which finds cold memory, is dropped.
  std::vector<int64_t> samples(const Test &test, int64_t repetitions) {
    ProgressLine progress(fmt::format("measuring {}, {} threads", test.name(), options().threads));
    std::vector<int64_t> nanoseconds;
    for (int64_t run = 0; run <= repetitions; ++run) {
      progress.show(double(run) / double(repetitions + 1));
      const int64_t time = timeOf(test);
      if (run)
        nanoseconds.push_back(time);
    }
    return nanoseconds;
  }

private:
  void feedDepth() {
    struct Reading {
      ProgressLine line;
      double total;
      static int32_t take(void *user, writ_session *, int64_t first, int64_t) {
        Reading &self = *static_cast<Reading *>(user);
        self.line.show(double(first) / self.total);
        return 0;
      }
    } reading{ProgressLine(fmt::format("reading the {} tokens before", depth)), double(depth)};
    writ_error error;
    finish(writ_sequence_feed(session.get(), sequence, ids.data(), depth, WRIT_OUTPUTS_NONE,
                              Reading::take, &reading, stop, &error),
           error);
  }

  int64_t timeOf(const Test &test) {
    writ_error error;
    check(writ_sequence_rewind(session.get(), sequence, depth, &error), error, "sequence");
    const auto start = std::chrono::steady_clock::now();
    if (test.prompt)
      finish(writ_sequence_feed(session.get(), sequence, ids.data() + depth, test.prompt,
                                WRIT_OUTPUTS_LAST, nullptr, nullptr, stop, &error),
             error);
    for (int64_t i = 0; i < test.generated; ++i) {
      const writ_step_row row{sequence, ids[size_t(depth + i)], 1};
      finish(*stop ? WRIT_STOPPED : writ_session_step(session.get(), &row, 1, &error), error);
    }
    return std::max<int64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                 std::chrono::steady_clock::now() - start)
                                 .count(),
                             1);
  }

  /// Nothing but the stop flag stops a run.
  static void finish(writ_status status, const writ_error &error) {
    if (status == WRIT_STOPPED)
      throw Interrupted();
    check(status, error, "step");
  }

  int64_t depth;
  const volatile int32_t *stop;
  SessionPtr session;
  writ_sequence sequence{};
  std::vector<int32_t> ids; ///< by position
};

using Row = nlohmann::ordered_json;

/// The keys of llama-bench where it has one, and what decides the bits.
Row rowOf(const BenchCommand &command, const writ_package_info &info,
          const writ_session_options &used, const Test &test, const std::string &time,
          const std::vector<int64_t> &nanoseconds) {
  std::vector<double> rates;
  for (int64_t value : nanoseconds)
    rates.push_back(double(test.tokens()) * 1e9 / double(value));
  const Statistics times = statisticsOf(nanoseconds), speeds = statisticsOf(rates);
  return {{"writ_version", writ_version()},
          {"cpu_info", processorName()},
          {"isa", writ_isa_name(used.isa)},
          {"model_filename", command.target},
          {"model_name", info.model_name},
          {"model_sha256", info.model_sha256},
          {"model_size", info.weights_bytes},
          {"circuit", info.circuit},
          {"profile", info.profile},
          {"resolution_sha256", info.resolution_sha256},
          {"production", info.production != 0},
          {"n_ubatch", used.max_rows},
          {"n_threads", used.threads},
          {"n_prompt", test.prompt},
          {"n_gen", test.generated},
          {"n_depth", test.depth},
          {"test_time", time},
          {"avg_ns", int64_t(times.mean)},
          {"stddev_ns", int64_t(times.deviation)},
          {"avg_ts", speeds.mean},
          {"stddev_ts", speeds.deviation},
          {"samples_ns", nanoseconds},
          {"samples_ts", rates}};
}

/// A Markdown table whose rows are printed as they come.
class Table {
public:
  explicit Table(const writ_package_info &info)
      : model(printable(info.model_name)), size(megabytes(info.weights_bytes)) {
    line("model", "size", "profile", "isa", "threads", "test", "tokens/s");
    const auto rule = [](size_t width) { return std::string(width, '-'); };
    line(rule(model.size()), rule(9) + ":", "--------", "------", "------:", rule(16) + ":",
         rule(17) + ":");
  }
  void add(const Row &row, const Test &test) const {
    line(model, size, row.at("profile").get<std::string>(), row.at("isa").get<std::string>(),
         row.at("n_threads").dump(), test.name(),
         fmt::format("{:.2f} ± {:.2f}", row.at("avg_ts").get<double>(),
                     row.at("stddev_ts").get<double>()));
  }

private:
  void line(const std::string &name, const std::string &bytes, const std::string &profile,
            const std::string &isa, const std::string &threads, const std::string &test,
            const std::string &speed) const {
    printLine(fmt::format("| {:<{}} | {:>10} | {:<8} | {:<6} | {:>7} | {:>17} | {:>18} |", name,
                          model.size(), bytes, profile, isa, threads, test, speed));
    flushOutput();
  }

  std::string model, size;
};

} // namespace

int runBench(const BenchCommand &command) {
  if (testsAt(command, 0).empty())
    throw UsageError({"--n-prompt"}, "E051",
                     "there is nothing to measure: the tokens of --n-prompt and --n-gen are all 0");
  const volatile int32_t *stop = interruptFlag();
  const PackagePtr package = openTarget(command.target, command.compile, command.session.verify);
  const writ_package_info info = packageInfo(package.get());
  requireContext(command, info.context_length);
  std::optional<Table> table;
  if (!command.json)
    table.emplace(info);
  Row rows = Row::array();
  const auto finish = [&] {
    if (command.json)
      printLine(rows.dump(2));
  };
  try {
    for (int threads : command.threads)
      for (int64_t depth : command.depths) {
        const std::vector<Test> tests = testsAt(command, depth);
        SessionOptions options = command.session;
        options.threads = threads;
        Bench bench(package.get(), options, tests, stop);
        for (const Test &test : tests) {
          const std::string time = timeNow();
          rows.push_back(rowOf(command, info, bench.options(), test, time,
                               bench.samples(test, command.repetitions)));
          if (table)
            table->add(rows.back(), test);
        }
      }
  } catch (const Interrupted &) {
    finish(); // what was measured until then is valid
    flushOutput();
    throw;
  }
  finish();
  return exitOk;
}

} // namespace writ::tool
