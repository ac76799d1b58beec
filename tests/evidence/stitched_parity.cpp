//===- stitched_parity.cpp - a whole model, call by call ------------------===//
//
// Opens a package, runs prefill and decode steps over histories that cross tiles, chunks and pages,
// and holds every call against the reference on the weights of the model's file. The first session
// is judged; others, with other instruction sets and threads, must take and make the same bits.
//
//   stitched_parity --package DIR --model FILE --data ROOT [--out FILE] [--history N]
//                   [--alter-weight TENSOR | --alter-output OP | --alter-input OP]
//
// Exit status: 0 validated, 1 failed, 2 wrong usage or a file that cannot be read.
//
//===----------------------------------------------------------------------===//
#include "tests/conformance/BuiltOf.h"
#include "tests/evidence/Judge.h"
#include "tests/evidence/Walk.h"
#include "writ/writ.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fmt/format.h>
#include <fstream>

using namespace writ::test;

namespace {

struct Options {
  std::string package, model, data, out;
  int64_t history = 300;
  Alterations alterations;
};

/// The first session is judged with the best instruction set; then each other one, with as many
/// threads as the obligations name.
std::vector<Variant> variants() {
  std::vector<Variant> list{{writ_isa_best(), 2}};
  std::vector<int32_t> isas; // of this machine, the best first
  for (int32_t isa = writ_isa_best(); isa >= 0; --isa)
    if (writ_isa_supported(isa))
      isas.push_back(isa);
  const int32_t threads[] = {1, 3, 7};
  for (size_t i = 0; i < std::max(isas.size(), std::size(threads)); ++i)
    list.push_back({isas[i % isas.size()], threads[i % std::size(threads)]});
  return list;
}

nlohmann::json opsJson(const Judge &judge) {
  std::map<std::string, std::map<std::string, Tally>> sums;
  for (const auto &[op, tally] : judge.tallies()) {
    Tally &sum = sums[op->contract->id][op->map->id];
    sum.calls += tally.calls;
    sum.elements += tally.elements;
    sum.differences += tally.differences;
  }
  nlohmann::json json;
  for (const auto &[contract, providers] : sums)
    for (const auto &[provider, sum] : providers)
      json[contract][provider] = {
          {"calls", sum.calls}, {"elements", sum.elements}, {"differences", sum.differences}};
  return json;
}

nlohmann::json report(const Facts &facts, const Judge &judge, const Walk &walk,
                      const writ_model_desc &model) {
  nlohmann::json json = {{"schema", "writ.stitched.v1"},
                         {"built_of", builtOf()},
                         {"circuit", model.circuit},
                         {"profile", model.profile},
                         {"model_sha256", facts.file().sha256()},
                         {"storages", facts.storages()},
                         {"resolution_sha256", model.resolution_sha256},
                         {"layers", nlohmann::json::array()},
                         {"sessions", nlohmann::json::array()},
                         {"steps", nlohmann::json::array()},
                         {"inputs_traced", judge.inputsTraced()},
                         {"ops", opsJson(judge)},
                         {"controls", judge.controls()},
                         {"faults", judge.faults()}};
  for (const writ::InstanceKvGroup &group : facts.circuit().kvGroups)
    json["layers"].push_back(group.layers);
  for (const Variant &variant : walk.variants())
    json["sessions"].push_back({{"isa", writ_isa_name(variant.isa)}, {"threads", variant.threads}});
  for (const Stage &stage : walk.stages())
    json["steps"].push_back({{"rows", stage.rows},
                             {"sequences", stage.sequences},
                             {"last_position", stage.lastPosition},
                             {"evaluated", nameOf(stage.scope)}});
  json["verdict"] = judge.faults().empty() ? "validated" : "failed";
  return json;
}

/// So long that every window of the model hides something from the last step.
int64_t beyondWindows(const Facts &facts, int64_t history) {
  for (const writ::InstanceKvGroup &group : facts.circuit().kvGroups)
    history = std::max(history, group.window + 2);
  return history;
}

int run(const Options &options) {
  Package package(options.package);
  const writ_model_desc &model = *writ_package_model(package.get());
  const Facts facts(options.data, options.model, model);
  Judge judge(facts, options.alterations);
  Walk walk(package.get(), facts, judge, beyondWindows(facts, options.history));
  for (const Variant &variant : variants())
    walk.run(variant);
  const nlohmann::json json = report(facts, judge, walk, model);
  if (!options.out.empty())
    std::ofstream(options.out) << json.dump(1) << "\n";
  int64_t calls = 0, elements = 0;
  for (const auto &[op, tally] : judge.tallies()) {
    calls += tally.calls;
    elements += tally.elements;
  }
  for (const std::string &fault : judge.faults())
    std::fprintf(stderr, "%s\n", fault.c_str());
  std::puts(fmt::format("{}.{}: {} calls, {} elements, {} inputs traced: {}", model.circuit,
                        model.profile, calls, elements, judge.inputsTraced(),
                        json["verdict"].get<std::string>())
                .c_str());
  return judge.faults().empty() ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app("Holds every call of a compiled model against the reference.", "stitched_parity");
  app.add_option("--package", options.package, "package folder")->required();
  app.add_option("--model", options.model, "the model file that it was compiled from")->required();
  app.add_option("--data", options.data, "root of contracts/, kernel_maps/, circuits/")->required();
  app.add_option("--out", options.out, "write the result as JSON");
  app.add_option("--history", options.history, "tokens of the long history, at least")
      ->check(CLI::Range(int64_t(40), int64_t(100000)));
  app.add_option("--alter-weight", options.alterations.weight, "negative control: a tensor");
  app.add_option("--alter-output", options.alterations.output, "negative control: an op");
  app.add_option("--alter-input", options.alterations.input, "negative control: an op");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    return run(options);
  } catch (const Fault &fault) {
    std::fprintf(stderr, "%s\n", fault.what());
    return 1;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
