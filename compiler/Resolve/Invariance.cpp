//===- Invariance.cpp - what cannot change a contract's bits --------------===//
#include "compiler/Resolve/Invariance.h"

#include "compiler/Resolve/ReadCatalog.h"
#include "compiler/Resolve/TakenNames.h"
#include "compiler/Support/EditDistance.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace writ {
namespace {

class Derivation {
public:
  Derivation(const Catalog &catalog, const Contract &contract)
      : rules(catalog.invariance()), contract(contract),
        fields(catalog.vocabulary().at("contract_fields").at(contract.family)),
        optional(takenInFamily(catalog, contract.family)) {}

  ContractInvariance derive();

private:
  void addNumber(const std::string &field, const std::string &kind, const Json &value);
  void addWord(const std::string &field, const std::string &list, const Json &value);
  void requireKnown(const std::string &path, const Json::Member &member);
  void lacks(const Location &at, std::string text) {
    faults.push_back({at,
                      "E304",
                      std::move(text) + ": what it lets decide is unknown",
                      {{fields.location(), "the family's fields are declared here"}}});
  }

  const InvarianceRules &rules;
  const Contract &contract;
  const Json &fields;        ///< path → list or kind of number
  const TakenNames optional; ///< fields that not every contract of the family has
  ContractInvariance derived;
  std::vector<Diagnostic> faults;
};

void Derivation::addNumber(const std::string &field, const std::string &kind, const Json &value) {
  FieldInvariance neutral;
  neutral.field = field;
  neutral.value = value.isString() ? value.asString() : fmt::format("{}", value.asInteger());
  neutral.because = rules.numbers.at(kind);
  neutral.location = value.location();
  derived.fields.push_back(std::move(neutral));
}

void Derivation::addWord(const std::string &field, const std::string &list, const Json &value) {
  const std::vector<InvarianceCause> *causes = rules.find(list, value.asString());
  if (!causes)
    return lacks(value.location(),
                 fmt::format("'{}' of '{}' has no rule of invariance", value.asString(), list));
  FieldInvariance entry;
  entry.field = field;
  entry.value = value.asString();
  entry.because = rules.lists.at(list).why;
  entry.location = value.location();
  if (causes->empty())
    derived.fields.push_back(entry);
  for (const InvarianceCause &cause : *causes) {
    entry.breaks = cause.breaks;
    entry.because = cause.because;
    // Without the number there is no condition: it always holds.
    const Json *from = cause.field.empty() ? nullptr : findField(contract.json, cause.field);
    entry.variable = from ? cause.variable : "";
    entry.from = from ? std::optional(from->asInteger()) : std::nullopt;
    derived.fields.push_back(entry);
  }
}

/// A member of the contract that no rule reads could decide over bits unseen.
void Derivation::requireKnown(const std::string &path, const Json::Member &member) {
  if (member.value.isObject())
    for (const Json::Member &inner : member.value.members())
      requireKnown(path + "." + inner.key, inner);
  else if (!fields.contains(path))
    lacks(member.keyLocation,
          fmt::format("field '{}' of contract '{}' is not a contract field of family '{}'", path,
                      contract.id, contract.family));
}

ContractInvariance Derivation::derive() {
  for (const Json::Member &member : contract.json.members())
    if (!rules.notArithmetic.contains(member.key) && member.key != "operands")
      requireKnown(member.key, member);
  for (const Json::Member &operand : contract.json.at("operands").members())
    for (const Json::Member &member : operand.value.members())
      if (member.key == "storage")
        addWord(fmt::format("operands.{}.storage", operand.key), "storage", member.value);
      else
        requireKnown(fmt::format("operands.{}.{}", operand.key, member.key), member);
  for (const Json::Member &field : fields.members()) {
    const std::string &list = field.value.asString();
    const Json *value = findField(contract.json, field.key);
    if (rules.numbers.contains(list)) {
      if (value)
        addNumber(field.key, list, *value);
    } else if (value) {
      addWord(field.key, list, *value);
    } else if (!optional.fields.contains(field.key)) {
      lacks(contract.json.location(),
            fmt::format("contract '{}' has no '{}'", contract.id, field.key));
    }
  }
  if (!faults.empty())
    throw Error(std::move(faults));
  return std::move(derived);
}

/// One note for each field that breaks one of the dimensions.
std::vector<Note> notesOf(const ContractInvariance &invariance,
                          const std::vector<std::string> &missing) {
  std::vector<Note> notes;
  for (const FieldInvariance &field : invariance.fields) {
    std::vector<std::string> broken;
    for (const std::string &dimension : missing)
      if (field.breaksDimension(dimension))
        broken.push_back(dimension);
    if (!broken.empty())
      notes.push_back({field.location, fmt::format("{} is '{}', which breaks {}{}: {}", field.field,
                                                   field.value, fmt::join(broken, ", "),
                                                   field.from ? " where " + field.condition() : "",
                                                   field.because)});
  }
  return notes;
}

/// E127: what scheduling breaks, the contract has to leave open.
void checkScheduling(const Catalog &catalog, const KernelMap &map, const std::string &contract,
                     const ContractInvariance &derived, std::vector<Diagnostic> &found) {
  const InvarianceCause &scheduling = catalog.invariance().scheduling;
  std::vector<std::string> kept;
  for (const std::string &dimension : scheduling.breaks)
    if (derived.holds(dimension))
      kept.push_back(dimension);
  if (!kept.empty())
    found.push_back({map.json.at("threading").at("scheduling_alters_order").location(),
                     "E127",
                     fmt::format("scheduling alters the order of '{}', but its contract '{}' is "
                                 "invariant under {}",
                                 map.id, contract, fmt::join(kept, ", ")),
                     {{catalog.contracts().at(contract).json.at("id").location(),
                       fmt::format("the contract stands here; {}", scheduling.because)}}});
}

} // namespace

bool FieldInvariance::breaksDimension(const std::string &dimension) const {
  return std::find(breaks.begin(), breaks.end(), dimension) != breaks.end();
}

std::string FieldInvariance::condition() const {
  return from ? fmt::format("{} >= {}", variable, *from) : "";
}

bool ContractInvariance::holds(const std::string &dimension) const {
  return against(dimension).empty();
}

std::vector<const FieldInvariance *>
ContractInvariance::against(const std::string &dimension) const {
  std::vector<const FieldInvariance *> found;
  for (const FieldInvariance &field : fields)
    if (field.breaksDimension(dimension))
      found.push_back(&field);
  return found;
}

ContractInvariance deriveInvariance(const Catalog &catalog, const Contract &contract) {
  if (!contract.parts.empty()) { // what breaks a part breaks the whole
    ContractInvariance whole;
    for (const std::string &part : contract.parts)
      for (FieldInvariance &field :
           deriveInvariance(catalog, catalog.contracts().at(part)).fields) {
        field.field = part + ": " + field.field;
        whole.fields.push_back(std::move(field));
      }
    return whole;
  }
  return Derivation(catalog, contract).derive();
}

void checkInvariance(const Catalog &catalog, std::vector<Diagnostic> &found) {
  std::map<std::string, ContractInvariance> derived;
  for (const auto &[id, contract] : catalog.contracts())
    try {
      derived[id] = deriveInvariance(catalog, contract);
    } catch (const Error &error) {
      found.insert(found.end(), error.diagnostics().begin(), error.diagnostics().end());
    }
  if (!found.empty())
    return;
  for (const auto &[id, map] : catalog.kernelMaps())
    if (map.schedulingAltersOrder)
      for (const std::string &contract : map.contracts)
        checkScheduling(catalog, map, contract, derived.at(contract), found);
}

void checkDimensionNames(const Catalog &catalog, const std::vector<std::string> &names) {
  for (const std::string &name : names)
    if (!catalog.invariance().hasDimension(name))
      throw Error({"--require"}, "E051", fmt::format("'{}' is not a dimension of invariance", name),
                  {{{}, "dimensions: " + quotedList(catalog.invariance().dimensionNames())}});
}

void requireInvariance(const Catalog &catalog, const std::vector<Requirement> &requirements,
                       const std::vector<std::string> &required) {
  std::vector<Diagnostic> found;
  std::set<std::string> reported; // the layers of a model fail alike, at one place of the circuit
  for (const Requirement &requirement : requirements) {
    const auto named = catalog.contracts().find(requirement.contract);
    if (named == catalog.contracts().end()) // of a fusion that no kernel has: resolution says so
      continue;
    const Contract &contract = named->second;
    const ContractInvariance invariance = deriveInvariance(catalog, contract);
    std::vector<std::string> missing;
    for (const std::string &dimension : catalog.invariance().dimensionNames())
      if (std::find(required.begin(), required.end(), dimension) != required.end() &&
          !invariance.holds(dimension))
        missing.push_back(dimension);
    if (missing.empty() || !reported.insert(toString(requirement.location) + contract.id).second)
      continue;
    std::vector<Note> notes = notesOf(invariance, missing);
    notes.push_back({{},
                     fmt::format("choose a profile whose contract does, or require less; `writ "
                                 "contracts {}` shows every field",
                                 contract.id)});
    found.push_back({requirement.location, "E104",
                     fmt::format("'{}' has contract '{}', which is not invariant under {}; "
                                 "--require asks for it (op '{}', {})",
                                 requirement.op, contract.id, fmt::join(missing, ", "),
                                 requirement.name, requirement.phase),
                     std::move(notes)});
  }
  if (!found.empty())
    throw Error(std::move(found));
}

} // namespace writ
