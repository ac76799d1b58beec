//===- Evidence.cpp - what has been shown of a provider -------------------===//
#include "compiler/Resolve/Evidence.h"

#include "compiler/Support/Digest.h"

#include <filesystem>
#include <fmt/format.h>
#include <initializer_list>
#include <iterator>
#include <set>

namespace writ {
namespace {

/// What gives the words of a contract their meaning: the same contract under others is another.
constexpr const char *kMeaning[] = {"functions", "vocabulary", "reference"};

void bind(EvidenceNeed &need, std::initializer_list<const char *> keys) {
  need.bound.insert(need.bound.end(), std::begin(kMeaning), std::end(kMeaning));
  need.bound.insert(need.bound.end(), keys.begin(), keys.end());
}

EvidenceNeed contractNeed(const std::string &contract, const Location &location) {
  EvidenceNeed need{"contract", contract, {"contract:" + contract}, location};
  bind(need, {"oracle", "inputs:contract"});
  return need;
}

/// SHA-256 of all that a record says besides this digest: a record that somebody edited is none.
std::string sealOf(const Json &record) {
  nlohmann::json rest = record.plain();
  rest.erase("sha256");
  return sha256Json(rest);
}

} // namespace

EvidenceNeed providerNeed(const KernelMap &map, const Location &location) {
  EvidenceNeed need{
      "provider", map.id, {"map:" + map.id, "source:" + map.id, "flags:" + map.id}, location};
  for (const std::string &contract : map.contracts)
    need.bound.push_back("contract:" + contract);
  bind(need, {"inputs:provider", "pool", "packing"});
  return need;
}

std::string evidencePath(const Catalog &catalog, const EvidenceNeed &need) {
  return fmt::format("{}/evidence/{}/{}.json", catalog.paths().contracts, need.kind, need.subject);
}

CurrentDigests catalogDigests(const Catalog &catalog) {
  CurrentDigests digests;
  for (const auto &[id, contract] : catalog.contracts())
    digests["contract:" + id] = contract.digest;
  for (const auto &[id, map] : catalog.kernelMaps())
    digests["map:" + id] = map.digest;
  for (const auto &[id, circuit] : catalog.circuits())
    digests["circuit:" + id] = sha256Document(circuit);
  for (const auto &[id, profile] : catalog.profiles())
    digests["profile:" + id] = profile.digest;
  digests["vocabulary"] = sha256Document(catalog.vocabulary());
  digests["functions"] =
      sha256Document(readJsonFile(catalog.paths().contracts + "/functions.json"));
  return digests;
}

std::vector<EvidenceNeed> catalogNeeds(const Catalog &catalog) {
  std::vector<EvidenceNeed> needs;
  for (const auto &[id, contract] : catalog.contracts())
    if (contract.parts.empty()) // what is composed of validated contracts has no record of its own
      needs.push_back(contractNeed(id, contract.json.at("id").location()));
  for (const auto &[id, map] : catalog.kernelMaps())
    needs.push_back(providerNeed(map, map.json.at("id").location()));
  return needs;
}

std::vector<EvidenceNeed> evidenceNeeds(const Catalog &catalog, const EvidenceSubject &subject) {
  std::map<std::string, EvidenceNeed> byPath; // one need for each record, at its first use
  auto add = [&](EvidenceNeed need) { byPath.emplace(need.kind + "/" + need.subject, need); };
  const Location circuitAt = catalog.circuits().at(subject.circuit).at("id").location();
  const std::string circuit = "circuit:" + subject.circuit, profile = "profile:" + subject.profile;
  add({"circuit", subject.circuit, {circuit}, circuitAt});
  std::set<std::string> contracts, sources;
  for (const EvidenceSubject::Decision &decision : subject.decisions) {
    contracts.insert("contract:" + decision.contract);
    sources.insert("source:" + decision.provider);
    const std::vector<std::string> &parts = catalog.contracts().at(decision.contract).parts;
    for (const std::string &part : parts.empty() ? std::vector{decision.contract} : parts)
      add(contractNeed(part, decision.location));
    add(providerNeed(catalog.kernelMaps().at(decision.provider), decision.location));
  }
  EvidenceNeed stitched{
      "stitched", subject.circuit + "." + subject.profile, {circuit, profile}, circuitAt};
  stitched.bound.insert(stitched.bound.end(), contracts.begin(), contracts.end());
  EvidenceNeed endToEnd = stitched;
  stitched.bound.insert(stitched.bound.end(), sources.begin(), sources.end());
  bind(stitched, {"inputs:stitched", "pool", "packing"});
  bind(endToEnd, {"inputs:end_to_end"});
  endToEnd.kind = "end_to_end";
  std::set<std::string> storages = subject.storages;
  const std::vector<Json> &groups =
      catalog.circuits().at(subject.circuit).at("kv_groups").elements();
  for (size_t i = 0; i < subject.kv.size(); ++i)
    if (subject.kv[i] != groups.at(i).at("storage").asString())
      storages.insert("kv_" + subject.kv[i]);
  endToEnd.subject += fmt::format(".{}", fmt::join(storages, "+"));
  add(stitched);
  add(endToEnd);
  std::vector<EvidenceNeed> needs;
  for (auto &[path, need] : byPath)
    needs.push_back(std::move(need));
  return needs;
}

std::string evidenceFault(const Catalog &catalog, const EvidenceNeed &need,
                          const CurrentDigests &current) {
  const std::string path = evidencePath(catalog, need);
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    return "there is no record";
  const Json record = readJsonFile(path);
  checkSchema(record, readJsonFile(catalog.paths().contracts + "/schema/evidence.json"));
  if (record.at("kind").asString() != need.kind || record.at("subject").asString() != need.subject)
    return fmt::format("the record speaks of {} '{}'", record.at("kind").asString(),
                       record.at("subject").asString());
  canonicalDocument(record); // what cannot be sealed is an error at its place (E017)
  if (sealOf(record) != record.at("sha256").asString())
    return "it was edited after it was made";
  const std::string &verdict = record.at("verdict").asString();
  if (verdict != "validated")
    return fmt::format("its verdict is '{}'", verdict);
  checkSchema(record, readJsonFile(fmt::format("{}/schema/evidence_{}.json",
                                               catalog.paths().contracts, need.kind)));
  const Json &bound = record.at("bound");
  for (const std::string &key : need.bound) {
    const Json *digest = bound.find(key);
    if (!digest)
      return fmt::format("it does not bind '{}'", key);
    auto now = current.find(key);
    if (now == current.end())
      return fmt::format("it is stale: there is no '{}' any more", key);
    if (now->second != digest->asString())
      return fmt::format("it is stale: it binds '{}' at {}, which is {} now", key,
                         shortSha256(digest->asString()), shortSha256(now->second));
  }
  return "";
}

void requireEvidence(const Catalog &catalog, const std::vector<EvidenceNeed> &needs,
                     const CurrentDigests &current) {
  std::vector<Diagnostic> found;
  for (const EvidenceNeed &need : needs) {
    std::string fault;
    std::vector<Diagnostic> malformed;
    try {
      fault = evidenceFault(catalog, need, current);
    } catch (const Error &error) {
      fault = "its record cannot be read";
      malformed = error.diagnostics();
    }
    if (fault.empty())
      continue;
    found.push_back({need.location,
                     "E103",
                     fmt::format("{} '{}' is not validated: {}", need.kind, need.subject, fault),
                     {{{evidencePath(catalog, need)}, "the evidence record lies here"},
                      {{},
                       "'make evidence' makes the records; --bringup compiles without them, not "
                       "for production"}}});
    found.insert(found.end(), malformed.begin(), malformed.end());
  }
  if (!found.empty())
    throw Error(std::move(found));
}

} // namespace writ
