//===- Digests.cpp - `writ digests` ---------------------------------------===//
//
// What evidence records are bound to, and which records production needs: scripts/evidence asks
// here, so that no name of a record is typed by hand.
//
//===----------------------------------------------------------------------===//
#include "compiler/Tools/writ/Commands.h"
#include "compiler/Tools/writ/CompileModel.h"
#include "compiler/Tools/writ/Install.h"
#include "compiler/Tools/writ/Output.h"

#include <fmt/format.h>

namespace writ::tool {
namespace {

/// "" where the record of a need is current, else the first line of why it does not count.
std::string faultOf(const Catalog &catalog, const EvidenceNeed &need,
                    const CurrentDigests &current) {
  try {
    return evidenceFault(catalog, need, current);
  } catch (const Error &error) {
    const std::string text = error.what();
    return text.substr(0, text.find('\n'));
  }
}

nlohmann::ordered_json needJson(const Catalog &catalog, const EvidenceNeed &need,
                                const CurrentDigests &current) {
  nlohmann::ordered_json json = {{"kind", need.kind}, {"subject", need.subject}};
  // Relative to the data folder, so that the answer does not depend on where that lies.
  json["record"] = fmt::format("contracts/evidence/{}/{}.json", need.kind, need.subject);
  json["bound"] = nlohmann::ordered_json::object();
  for (const std::string &key : need.bound)
    json["bound"][key] = current.contains(key) ? nlohmann::ordered_json(current.at(key)) : nullptr;
  json["fault"] = faultOf(catalog, need, current);
  return json;
}

void printNeeds(const std::vector<EvidenceNeed> &needs, const Catalog &catalog,
                const CurrentDigests &current) {
  for (const EvidenceNeed &need : needs) {
    const std::string fault = faultOf(catalog, need, current);
    printLine(fmt::format("{:<11} {:<40} {}", need.kind, need.subject,
                          fault.empty() ? "validated" : fault));
  }
}

} // namespace

int runDigests(const DigestsCommand &command) {
  Catalog catalog;
  std::vector<EvidenceNeed> needs;
  nlohmann::ordered_json json;
  if (command.model.empty()) {
    catalog = Catalog::load(dataPaths(command.compile.data), linkedFunctions());
    needs = catalogNeeds(catalog);
  } else {
    CompileOptions options = command.compile;
    options.bringup = true; // the question is what production would need
    CompiledModel model = compileModel(command.model, options);
    needs = evidenceNeeds(model);
    json["circuit"] = model.instance.circuit;
    json["profile"] = model.profile;
    json["model_sha256"] = model.fileSha256;
    catalog = std::move(model.catalog);
  }
  const CurrentDigests current = currentDigests(catalog);
  if (command.json) {
    json["digests"] = current;
    json["needs"] = nlohmann::ordered_json::array();
    for (const EvidenceNeed &need : needs)
      json["needs"].push_back(needJson(catalog, need, current));
    printLine(json.dump(1));
  } else if (command.needs || !command.model.empty()) {
    printNeeds(needs, catalog, current);
  } else {
    for (const auto &[key, digest] : current)
      printLine(fmt::format("{}  {}", digest, key));
  }
  return exitOk;
}

} // namespace writ::tool
