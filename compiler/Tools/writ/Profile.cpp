//===- Profile.cpp - `writ profile` ---------------------------------------===//
//
// The runtime calls a trace after each kernel: the time between two of them is the kernel's, with
// what the emitted code does to call it. Without a trace nothing is measured and nothing is paid.
//
//===----------------------------------------------------------------------===//
#include "compiler/Support/Utf8.h"
#include "compiler/Tools/writ/Compile.h"
#include "compiler/Tools/writ/OpWork.h"
#include "compiler/Tools/writ/Output.h"
#include "compiler/Tools/writ/ProgressLine.h"
#include "compiler/Tools/writ/Session.h"
#include "compiler/Tools/writ/Tokens.h"
#include "writ/package_format.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace writ::tool {
namespace {

using Clock = std::chrono::steady_clock;
using Object = nlohmann::ordered_json;

struct Entry {
  int64_t runs = 0;
  double seconds = 0;
  double floor = 0; ///< the sum of the floors of its runs
  OpWork work;

  void add(const Entry &other) {
    runs += other.runs;
    seconds += other.seconds;
    floor += other.floor;
    work += other.work;
  }
};

/// One run of a phase: an entry for each call of the package.
struct Measurement {
  std::vector<Entry> calls;
  double seconds = 0; ///< of the steps, from outside
};

class Profiler {
public:
  Profiler(const writ_package *package, const ProfileCommand &command, const Ceilings &ceilings,
           const volatile int32_t *stop)
      : facts(readPackageCalls(packageInfo(package).path)), command(command), ceilings(ceilings),
        stop(stop) {
    SessionShape shape{std::max<int64_t>({command.depth, command.prompt, 1}),
                       command.depth + std::max(command.prompt, command.generated)};
    shape.trace = see;
    shape.traceUser = this;
    session = openSession(package, command.session, shape);
    const writ_package_info info = packageInfo(package);
    ids = someTokens(info.vocabulary, info.bos_token, shape.longest);
    writ_error error;
    check(writ_sequence_create(session.get(), &sequence, &error), error, "sequence");
    if (command.depth)
      feed(command.depth);
  }

  const PackageCalls &package() const { return facts; }
  writ_session_options options() const { return usedOptions(session.get()); }

  /// The fastest of some runs; one more before them finds cold memory and does not count.
  Measurement prefill() {
    return best("prefill", [&] { feed(command.prompt); });
  }
  Measurement decode() {
    return best("decode", [&] {
      for (int64_t i = 0; i < command.generated; ++i) {
        const writ_step_row row{sequence, ids[size_t(command.depth + i)], 1};
        writ_error error;
        last = Clock::now();
        finish(*stop ? WRIT_STOPPED : writ_session_step(session.get(), &row, 1, &error), error);
      }
    });
  }

private:
  template <typename Run> Measurement best(const char *what, Run &&run) {
    ProgressLine progress(fmt::format("profiling {}", what));
    Measurement result;
    for (int64_t i = 0; i <= command.repetitions; ++i) {
      progress.show(double(i) / double(command.repetitions + 1));
      writ_error error;
      check(writ_sequence_rewind(session.get(), sequence, command.depth, &error), error,
            "sequence");
      now.calls.assign(facts.calls.size(), {});
      const auto start = Clock::now();
      run();
      now.seconds = std::chrono::duration<double>(Clock::now() - start).count();
      if (i == 1 || (i > 1 && now.seconds < result.seconds))
        result = now;
    }
    return result;
  }

  /// From the depth on, or up to it.
  void feed(int64_t tokens) {
    int64_t length = 0;
    writ_error error;
    check(writ_sequence_length(session.get(), sequence, &length, &error), error, "sequence");
    last = Clock::now();
    finish(writ_sequence_feed(session.get(), sequence, ids.data() + length, tokens,
                              WRIT_OUTPUTS_LAST, nullptr, nullptr, stop, &error),
           error);
  }

  static void finish(writ_status status, const writ_error &error) {
    if (status == WRIT_STOPPED)
      throw Interrupted();
    check(status, error, "step");
  }

  static void see(void *user, const writ_step *step, uint32_t call, const writ_provider *provider,
                  const void *) {
    Profiler &self = *static_cast<Profiler *>(user);
    const Clock::time_point end = Clock::now();
    if (call < self.now.calls.size()) {
      Entry &entry = self.now.calls[call];
      OpWork work = workOf(self.facts.calls[call], self.facts.kvGroups, *step->rows);
      work.ofBfloats = writ_traced_isa(step, provider) == WRIT_ISA_AVX512BF16;
      ++entry.runs;
      entry.seconds += std::chrono::duration<double>(end - self.last).count();
      entry.floor += work.floor(self.ceilings);
      entry.work += work;
    }
    self.last = Clock::now(); // what was done here is no kernel's
  }

  const PackageCalls facts;
  const ProfileCommand &command;
  const Ceilings ceilings;
  const volatile int32_t *stop;
  SessionPtr session;
  writ_sequence sequence{};
  std::vector<int32_t> ids; ///< by position
  Measurement now;
  Clock::time_point last;
};

/// What shares a line: all calls of a phase that one provider serves.
struct Kind {
  std::string family, provider;
  int64_t calls = 0;
  Entry entry;
};

std::vector<Kind> kindsOf(const Measurement &measured, const PackageCalls &package) {
  std::vector<Kind> kinds;
  for (size_t i = 0; i < measured.calls.size(); ++i) {
    if (measured.calls[i].runs == 0)
      continue;
    const PackageCall &call = package.calls[i];
    auto it = std::find_if(kinds.begin(), kinds.end(),
                           [&](const Kind &kind) { return kind.provider == call.provider; });
    if (it == kinds.end())
      it = kinds.insert(kinds.end(), {call.family, call.provider, 0, {}});
    ++it->calls;
    it->entry.add(measured.calls[i]);
  }
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const Kind &a, const Kind &b) { return a.entry.seconds > b.entry.seconds; });
  return kinds;
}

Object entryJson(const Entry &entry, double total) {
  return {{"runs", entry.runs},
          {"seconds", entry.seconds},
          {"share", entry.seconds / total},
          {"bytes", entry.work.bytes},
          {"operations", entry.work.operations},
          {"bytes_per_s", entry.work.bytes / entry.seconds},
          {"operations_per_s", entry.work.operations / entry.seconds},
          {"floor_seconds", entry.floor},
          {"of_ceiling", entry.floor / entry.seconds}};
}

double sumOf(const Measurement &measured, double Entry::*member) {
  double sum = 0;
  for (const Entry &entry : measured.calls)
    sum += entry.*member;
  return sum;
}

Object phaseJson(const char *phase, int64_t tokens, const Measurement &measured,
                 const PackageCalls &package) {
  Object kinds = Object::array(), calls = Object::array();
  for (const Kind &kind : kindsOf(measured, package)) {
    kinds.push_back({{"family", kind.family}, {"provider", kind.provider}, {"calls", kind.calls}});
    kinds.back().update(entryJson(kind.entry, measured.seconds));
  }
  for (size_t i = 0; i < measured.calls.size(); ++i) {
    if (measured.calls[i].runs == 0)
      continue;
    const PackageCall &call = package.calls[i];
    calls.push_back({{"op", call.op},
                     {"family", call.family},
                     {"layer", call.layer < 0 ? Object() : Object(call.layer)},
                     {"contract", call.contract},
                     {"provider", call.provider}});
    calls.back().update(entryJson(measured.calls[i], measured.seconds));
  }
  const double floor = sumOf(measured, &Entry::floor);
  return {{"phase", phase},
          {"tokens", tokens},
          {"seconds", measured.seconds},
          {"tokens_per_s", double(tokens) / measured.seconds},
          {"between_kernels_seconds", measured.seconds - sumOf(measured, &Entry::seconds)},
          {"floor_seconds", floor},
          {"of_ceiling", floor / measured.seconds},
          {"kinds", kinds},
          {"calls", calls}};
}

void printEntry(const std::string &name, const std::string &count, const Object &entry) {
  const auto number = [&](const char *key) { return entry.at(key).get<double>(); };
  const bool computes = number("operations") > 0;
  printLine(fmt::format(
      "| {:<40} | {:>6} | {:>9.3f} | {:>5.1f} % | {:>9.1f} | {:>7.1f} | {:>8} | {:>8} |", name,
      count, number("seconds") * 1e3, number("share") * 100, number("bytes") / 1e6,
      number("bytes_per_s") / 1e9,
      computes ? fmt::format("{:.1f}", number("operations_per_s") / 1e9) : "",
      fmt::format("{:.0f} %", number("of_ceiling") * 100)));
}

void printHead(const char *what, const char *count) {
  printLine(fmt::format("| {:<40} | {:>6} | {:>9} | {:>7} | {:>9} | {:>7} | {:>8} | {:>8} |", what,
                        count, "ms", "share", "MB", "GB/s", "GOP/s", "ceiling"));
  printLine(fmt::format(
      "| {:-<40} | {:->5}: | {:->8}: | {:->6}: | {:->8}: | {:->6}: | {:->7}: | {:->7}: |", "", "",
      "", "", "", "", "", ""));
}

void printPhase(const Object &phase, int64_t depth, int64_t shown) {
  printLine(
      fmt::format("\n{} of {} tokens{}: {:.1f} tokens/s, {:.3f} ms, {:.3f} ms of them between "
                  "kernels; {:.0f} % of the ceiling\n",
                  phase.at("phase").get<std::string>(), phase.at("tokens").dump(),
                  depth ? fmt::format(" at depth {}", depth) : "",
                  phase.at("tokens_per_s").get<double>(), phase.at("seconds").get<double>() * 1e3,
                  phase.at("between_kernels_seconds").get<double>() * 1e3,
                  phase.at("of_ceiling").get<double>() * 100));
  printHead("kind", "calls");
  for (const Object &kind : phase.at("kinds"))
    printEntry(kind.at("provider").get<std::string>(), kind.at("calls").dump(), kind);
  std::vector<Object> calls(phase.at("calls").begin(), phase.at("calls").end());
  std::stable_sort(calls.begin(), calls.end(), [](const Object &a, const Object &b) {
    return a.at("seconds").get<double>() > b.at("seconds").get<double>();
  });
  if (shown == 0)
    return;
  printLine("");
  printHead("slowest calls", "runs");
  for (size_t i = 0; i < calls.size() && int64_t(i) < shown; ++i)
    printEntry(printable(calls[i].at("op").get<std::string>()), calls[i].at("runs").dump(),
               calls[i]);
}

Object ceilingsJson(const Ceilings &ceilings) {
  return {{"mapped_bytes_per_s", ceilings.mappedBytes},
          {"large_page_bytes_per_s", ceilings.largePageBytes},
          {"int8_ops_per_s", ceilings.int8Operations},
          {"f32_ops_per_s", ceilings.floatOperations},
          {"bf16_ops_per_s", ceilings.bfloatOperations}};
}

void printText(const Object &json, const Ceilings &ceilings, const ProfileCommand &command) {
  printLine(fmt::format(
      "{}, {} under {}, {} threads, {}\nceilings: {:.1f} GB/s read from {}, {:.0f} GOP/s of 8-bit "
      "codes, {:.0f} GFLOP/s of binary32{}",
      json.at("model_name").get<std::string>(), json.at("circuit").get<std::string>(),
      json.at("profile").get<std::string>(), ceilings.threads, writ_isa_name(ceilings.isa),
      ceilings.readBytes() / 1e9,
      ceilings.mappedBytes > ceilings.largePageBytes ? "a mapped file" : "large pages",
      ceilings.int8Operations / 1e9, ceilings.floatOperations / 1e9,
      ceilings.bfloatOperations > 0
          ? fmt::format(", {:.0f} of bfloat16 products", ceilings.bfloatOperations / 1e9)
          : ""));
  for (const Object &phase : json.at("phases"))
    printPhase(phase, command.depth, command.calls);
}

} // namespace

int runProfile(const ProfileCommand &command) {
  if (command.prompt == 0 && command.generated == 0)
    throw UsageError({"--n-prompt"}, "E051",
                     "there is nothing to profile: --n-prompt and --n-gen are both 0");
  const volatile int32_t *stop = interruptFlag();
  const PackagePtr package = openTarget(command.target, command.compile, command.session.verify);
  const writ_package_info info = packageInfo(package.get());
  const int64_t longest = std::max(command.prompt, command.generated);
  if (command.depth > info.context_length || longest > info.context_length - command.depth)
    throw Error({command.prompt >= command.generated ? "--n-prompt" : "--n-gen"}, "E051",
                fmt::format("{} tokens at depth {} do not fit into the model's context of {}",
                            longest, command.depth, info.context_length));
  const int threads = command.session.threads ? command.session.threads : writ_processor_count();
  const writ_isa isa = command.session.isa < 0
                           ? writ_isa_best()
                           : std::min(writ_isa(command.session.isa), writ_isa_best());
  const Ceilings ceilings =
      measureCeilings(isa, threads, std::string(info.path) + "/" + kWeightsFile);
  Profiler profiler(package.get(), command, ceilings, stop);
  const writ_session_options used = profiler.options();
  Object json{{"model_name", printable(info.model_name)},
              {"model_sha256", info.model_sha256},
              {"circuit", info.circuit},
              {"profile", info.profile},
              {"resolution_sha256", info.resolution_sha256},
              {"isa", writ_isa_name(used.isa)},
              {"n_threads", used.threads},
              {"n_ubatch", used.max_rows},
              {"n_depth", command.depth},
              {"ceilings", ceilingsJson(ceilings)},
              {"phases", Object::array()}};
  if (command.prompt)
    json["phases"].push_back(
        phaseJson("prefill", command.prompt, profiler.prefill(), profiler.package()));
  if (command.generated)
    json["phases"].push_back(
        phaseJson("decode", command.generated, profiler.decode(), profiler.package()));
  if (command.json)
    printLine(json.dump(2));
  else
    printText(json, ceilings, command);
  return exitOk;
}

} // namespace writ::tool
