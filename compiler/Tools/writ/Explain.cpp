//===- Explain.cpp - `writ explain` ---------------------------------------===//
#include "compiler/Diagnostics/Diagnostic.h"
#include "compiler/Support/EditDistance.h"
#include "compiler/Support/Json.h"
#include "compiler/Tools/writ/Commands.h"
#include "compiler/Tools/writ/LockedFile.h"
#include "compiler/Tools/writ/Output.h"
#include "writ/package_format.h"

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

void printWhole(const Json &op, const Json &decision, const std::string &circuit) {
  printLine(fmt::format("{} ({}), '{}' at {}:{}\n"
                        "  requires  {{{}}}\n"
                        "  contract  {}\n"
                        "  provider  {} (bodies: {}; split by {})",
                        op.at("op").asString(), op.at("phase").asString(),
                        decision.at("family").asString(), circuit,
                        op.at("circuit_line").asInteger(), fieldsOf(decision),
                        decision.at("contract").asString(), decision.at("provider").asString(),
                        joined(decision.at("isa"), ", "), decision.at("partition").asString()));
  for (const Json &rejected : decision.at("rejected").elements())
    printLine(fmt::format("  rejected  {}: {}", rejected.at("provider").asString(),
                          joined(rejected.at("because"), "; ")));
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
  bool found = false;
  for (const Json &op : report.at("ops").elements()) {
    const Json &decision = decisionOf(report, op);
    const std::string &name = op.at("op").asString();
    names.push_back(name);
    if (command.op.empty())
      printLine(fmt::format("{:<24} {:<8} {:<40} {}", name, op.at("phase").asString(),
                            decision.at("contract").asString(),
                            decision.at("provider").asString()));
    else if (name == command.op) {
      printWhole(op, decision, circuit);
      found = true;
    }
  }
  if (!command.op.empty() && !found)
    throw Error({command.package}, "E051", fmt::format("there is no op '{}'", command.op),
                {nearestOps(command.op, names, command.package)});
  return exitOk;
}

} // namespace writ::tool
