//===- Explain.cpp - `writ explain` ---------------------------------------===//
#include "compiler/Diagnostics/Diagnostic.h"
#include "compiler/Support/EditDistance.h"
#include "compiler/Support/Json.h"
#include "compiler/Tools/writ/Commands.h"
#include "compiler/Tools/writ/LockedFile.h"
#include "compiler/Tools/writ/Output.h"
#include "writ/package_format.h"

#include <algorithm>
#include <fmt/format.h>

namespace writ::tool {
namespace {

std::string fieldsOf(const Json &decision) {
  std::vector<std::string> fields;
  for (const char *kind : {"storage", "attributes", "dimensions"})
    for (const Json::Member &field : decision.at(kind).members())
      fields.push_back(fmt::format("{}={}", field.key,
                                   field.value.isString() ? field.value.asString()
                                                          : field.value.plain().dump()));
  return fmt::format("{}", fmt::join(fields, ", "));
}

std::string joined(const Json &texts, const char *separator) {
  std::vector<std::string> all;
  for (const Json &text : texts.elements())
    all.push_back(text.asString());
  return fmt::format("{}", fmt::join(all, separator));
}

/// Those that were not taken, the nearest first: each by its name with what it differs in.
void printRejected(const Json &decision) {
  std::vector<const Json *> rejected;
  for (const Json &candidate : decision.at("rejected").elements())
    rejected.push_back(&candidate);
  const auto differences = [](const Json *candidate) {
    return candidate->at("because").elements().size();
  };
  std::stable_sort(rejected.begin(), rejected.end(),
                   [&](const Json *a, const Json *b) { return differences(a) < differences(b); });
  printLine(
      rejected.empty()
          ? "  because   it is the only kernel of its family, and accepts every field"
          : fmt::format("  because   of {} kernels it alone accepts every field and keeps the "
                        "contract",
                        rejected.size() + 1));
  for (const Json *candidate : rejected)
    printLine(fmt::format(
        "  {:<9} {}: {}",
        differences(candidate) == differences(rejected.front()) ? "near miss" : "rejected",
        candidate->at("provider").asString(), joined(candidate->at("because"), "; ")));
}

/// One decision, for the phases that it holds in.
void printWhole(const Json &op, const std::vector<std::string> &phases, const Json &decision,
                const std::string &circuit) {
  printLine(fmt::format("{} ({}), '{}' at {}:{}\n"
                        "  requires  {{{}}}\n"
                        "  contract  {}\n"
                        "  provider  {} (bodies: {}; split by {})",
                        op.at("op").asString(), fmt::join(phases, ", "),
                        decision.at("family").asString(), circuit,
                        op.at("circuit_line").asInteger(), fieldsOf(decision),
                        decision.at("contract").asString(), decision.at("provider").asString(),
                        joined(decision.at("isa"), ", "), decision.at("partition").asString()));
  if (const Json *parts = op.find("parts"))
    printLine(fmt::format("  fuses     {}", joined(*parts, ", then ")));
  if (const Json *unfused = op.find("unfused"))
    printLine(fmt::format("  not fused {}", unfused->asString()));
  printRejected(decision);
}

/// Whether an op has this name, or was made of one that has.
bool isNamed(const Json &op, const std::string &name) {
  if (op.at("op").asString() == name)
    return true;
  if (const Json *parts = op.find("parts"))
    for (const Json &part : parts->elements())
      if (part.asString() == name)
        return true;
  return false;
}

/// All that a decision says besides its phase.
std::string sameOf(const Json &decision) {
  nlohmann::json rest = decision.plain();
  rest.erase("phase");
  return rest.dump();
}

/// Where the circuit of a package lies in the data folder. Its id is its file's stem.
std::string circuitOf(const std::string &package) {
  const Json lock = readLock(package);
  return "circuits/" + lock.at("circuit").at("id").asString() + ".json";
}

const Json &decisionOf(const Json &report, const Json &op) {
  const std::vector<Json> &decisions = report.at("decisions").elements();
  const Json &index = op.at("decision");
  if (index.asInteger() < 0 || index.asInteger() >= int64_t(decisions.size()))
    throw Error(index.location(), "E050",
                fmt::format("{} is not the index of one of {} decisions", index.asInteger(),
                            decisions.size()));
  return decisions[index.asInteger()];
}

Note nearestOps(const std::string &op, const std::vector<std::string> &names,
                const std::string &package) {
  const std::vector<std::string> nearest = nearestNames(op, names);
  return {{},
          nearest.empty() ? fmt::format("`writ explain {}` lists the ops", package)
                          : "nearest: " + quotedList(nearest)};
}

} // namespace

int runExplain(const ExplainCommand &command) {
  const Json report =
      parseJson(readLockedFile(command.package, kReportFile), command.package + "/" + kReportFile);
  const std::string circuit = circuitOf(command.package);
  std::vector<std::string> names;
  size_t width = 0, contractWidth = 0;
  for (const Json &op : report.at("ops").elements()) {
    names.push_back(op.at("op").asString());
    if (const Json *parts = op.find("parts"))
      for (const Json &part : parts->elements())
        if (part.asString() != op.at("op").asString())
          names.push_back(part.asString());
    width = std::max(width, op.at("op").asString().size());
    contractWidth =
        std::max(contractWidth, decisionOf(report, op).at("contract").asString().size());
  }
  // Phases with one decision are told together.
  std::vector<std::pair<const Json *, std::vector<std::string>>> found;
  for (const Json &op : report.at("ops").elements()) {
    const Json &decision = decisionOf(report, op);
    const std::string &phase = op.at("phase").asString();
    if (command.op.empty())
      printLine(fmt::format("{:<{}} {:<8} {:<{}} {}", op.at("op").asString(), width, phase,
                            decision.at("contract").asString(), contractWidth,
                            decision.at("provider").asString()));
    else if (isNamed(op, command.op)) {
      const std::string what = sameOf(decision);
      const auto same = std::find_if(found.begin(), found.end(), [&](const auto &other) {
        return sameOf(decisionOf(report, *other.first)) == what;
      });
      if (same == found.end())
        found.push_back({&op, {phase}});
      else
        same->second.push_back(phase);
    }
  }
  for (const auto &[op, phases] : found)
    printWhole(*op, phases, decisionOf(report, *op), circuit);
  if (!command.op.empty() && found.empty())
    throw Error({command.package}, "E051", fmt::format("there is no op '{}'", command.op),
                {nearestOps(command.op, names, command.package)});
  return exitOk;
}

} // namespace writ::tool
