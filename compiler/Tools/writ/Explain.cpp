//===- Explain.cpp - `writ explain` ---------------------------------------===//
#include "compiler/Diagnostics/Diagnostic.h"
#include "compiler/Support/EditDistance.h"
#include "compiler/Support/FileIO.h"
#include "compiler/Tools/writ/Commands.h"
#include "compiler/Tools/writ/LockedFile.h"
#include "compiler/Tools/writ/Output.h"
#include "writ/package_format.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace writ::tool {
namespace {

std::string fieldsOf(const nlohmann::json &decision) {
  std::vector<std::string> fields;
  for (const char *kind : {"storage", "attributes", "dimensions"})
    for (const auto &[name, value] : decision.at(kind).items())
      fields.push_back(
          fmt::format("{}={}", name, value.is_string() ? value.get<std::string>() : value.dump()));
  return fmt::format("{}", fmt::join(fields, ", "));
}

void printWhole(const nlohmann::json &op, const nlohmann::json &decision,
                const std::string &circuit) {
  printLine(fmt::format("{} ({}), '{}' at {}:{}\n"
                        "  requires  {{{}}}\n"
                        "  contract  {}\n"
                        "  provider  {} (bodies: {}; split by {})",
                        op.at("op").get<std::string>(), op.at("phase").get<std::string>(),
                        decision.at("family").get<std::string>(), circuit,
                        op.at("circuit_line").get<int>(), fieldsOf(decision),
                        decision.at("contract").get<std::string>(),
                        decision.at("provider").get<std::string>(),
                        fmt::join(decision.at("isa").get<std::vector<std::string>>(), ", "),
                        decision.at("partition").get<std::string>()));
  for (const auto &rejected : decision.at("rejected"))
    printLine(fmt::format("  rejected  {}: {}", rejected.at("provider").get<std::string>(),
                          fmt::join(rejected.at("because").get<std::vector<std::string>>(), "; ")));
}

/// Where the circuit of a package lies in the data folder. Its id is its file's stem.
std::string circuitOf(const std::string &package) {
  const nlohmann::json lock = nlohmann::json::parse(readFile(package + "/" + kLockFile));
  return "circuits/" + lock.at("circuit").at("id").get<std::string>() + ".json";
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
  const std::string path = command.package + "/" + kReportFile;
  nlohmann::json report;
  try {
    report = nlohmann::json::parse(readLockedFile(command.package, kReportFile));
    const std::string circuit = circuitOf(command.package);
    std::vector<std::string> names;
    bool found = false;
    for (const auto &op : report.at("ops")) {
      const nlohmann::json &decision = report.at("decisions").at(op.at("decision").get<size_t>());
      const std::string name = op.at("op");
      names.push_back(name);
      if (command.op.empty())
        printLine(fmt::format("{:<24} {:<8} {:<40} {}", name, op.at("phase").get<std::string>(),
                              decision.at("contract").get<std::string>(),
                              decision.at("provider").get<std::string>()));
      else if (name == command.op) {
        printWhole(op, decision, circuit);
        found = true;
      }
    }
    if (!command.op.empty() && !found)
      throw Error({command.package}, "E051", fmt::format("there is no op '{}'", command.op),
                  {nearestOps(command.op, names, command.package)});
  } catch (const nlohmann::json::exception &error) {
    throw Error({path}, "E050", fmt::format("not a report of this version: {}", error.what()));
  }
  return exitOk;
}

} // namespace writ::tool
