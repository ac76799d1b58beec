//===- CatalogChecks.cpp - faults of the catalog as a whole ---------------===//
#include "compiler/Resolve/ReadCatalog.h"
#include "compiler/Support/EditDistance.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <set>

namespace writ {
namespace {

bool has(const std::vector<std::string> &names, const std::string &name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool intersects(const std::vector<std::string> &a, const std::vector<std::string> &b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string &name) { return has(b, name); });
}

template <typename Entry> std::vector<std::string> keys(const std::map<std::string, Entry> &map) {
  std::vector<std::string> names;
  for (const auto &entry : map)
    names.push_back(entry.first);
  return names;
}

/// A name that must be one of `known`: E122 with the nearest ones.
void requireKnown(const std::string &what, const std::string &name,
                  const std::vector<std::string> &known, const Location &location,
                  std::vector<Diagnostic> &found) {
  if (has(known, name))
    return;
  std::vector<Note> notes;
  std::vector<std::string> nearest = nearestNames(name, known);
  notes.push_back({{},
                   fmt::format("{}: {}", nearest.empty() ? "known" : "nearest",
                               quotedList(nearest.empty() ? known : nearest))});
  found.push_back({location, "E122", fmt::format("'{}' is not {}", name, what), notes});
}

std::vector<std::string> operandNames(const Family &family) {
  std::vector<std::string> names;
  for (const OperandRule &operand : family.operands)
    names.push_back(operand.name);
  return names;
}

/// The least common range of two dimension ranges; nothing where they are disjoint, which they are
/// too where no 64-bit number is a multiple of both steps.
std::optional<DimensionRange> intersect(const DimensionRange &a, const DimensionRange &b) {
  DimensionRange range;
  range.min = std::max(a.min, b.min);
  if (a.max || b.max)
    range.max = std::min(a.max.value_or(INT64_MAX), b.max.value_or(INT64_MAX));
  const int64_t factor = b.multipleOf / std::gcd(a.multipleOf, b.multipleOf);
  int64_t first = 0;
  if (__builtin_mul_overflow(a.multipleOf, factor, &range.multipleOf) ||
      __builtin_mul_overflow((range.min - 1) / range.multipleOf + 1, range.multipleOf, &first) ||
      (range.max && first > *range.max))
    return std::nullopt;
  return range;
}

std::string rangeText(const DimensionRange &range) {
  std::string text = range.max ? fmt::format("[{}, {}]", range.min, *range.max)
                               : fmt::format("[{}, ...)", range.min);
  return range.multipleOf == 1 ? text : fmt::format("{} step {}", text, range.multipleOf);
}

void checkMapNames(const Catalog &catalog, const KernelMap &map, std::vector<Diagnostic> &found) {
  const Json &json = map.json;
  const auto families = catalog.families().find(map.op);
  if (families == catalog.families().end()) {
    requireKnown("an op family", map.op, keys(catalog.families()), json.at("op").location(), found);
    return;
  }
  const Family &family = families->second;
  for (const Json &contract : json.at("contracts").elements()) {
    auto it = catalog.contracts().find(contract.asString());
    if (it == catalog.contracts().end())
      found.push_back(unknownContract(catalog, contract.asString(), contract.location()));
    else if (it->second.family != map.op)
      found.push_back({contract.location(),
                       "E123",
                       fmt::format("contract '{}' is of family '{}', not '{}'", it->first,
                                   it->second.family, map.op),
                       {}});
  }
  for (const Json::Member &operand : json.at("operands").members())
    requireKnown(fmt::format("an operand of '{}'", map.op), operand.key, operandNames(family),
                 operand.keyLocation, found);
  for (const OperandRule &operand : family.operands)
    if (!map.operands.contains(operand.name) && !operand.optional)
      found.push_back({json.at("operands").location(),
                       "E122",
                       fmt::format("operand '{}' of '{}' is missing", operand.name, map.op),
                       {}});
  if (const Json *dimensions = json.find("dimensions"))
    for (const Json::Member &dimension : dimensions->members())
      requireKnown(fmt::format("a dimension of '{}'", map.op), dimension.key, family.dimensions,
                   dimension.keyLocation, found);
  if (const Json *attributes = json.find("attributes"))
    for (const Json::Member &attribute : attributes->members())
      requireKnown(fmt::format("an attribute of '{}'", map.op), attribute.key, family.attributes,
                   attribute.keyLocation, found);
  for (const std::string &attribute : family.attributes)
    if (!map.attributes.contains(attribute) && !family.optionalAttributes.contains(attribute))
      found.push_back(
          {json.location(),
           "E122",
           fmt::format("attribute '{}' of '{}' is missing; a map says which values it accepts",
                       attribute, map.op),
           {}});
}

void checkMapFunctions(const KernelMap &map, bool isFusion, const KnownFunctions &functions,
                       std::vector<Diagnostic> &found) {
  const Json &json = map.json.at("functions");
  if (std::set<std::string>{map.contractOracle, map.production, map.threaded}.size() != 3)
    found.push_back(
        {json.location(),
         "E124",
         fmt::format("functions are '{}', '{}' and '{}'; evidence compares three different ones",
                     map.contractOracle, map.production, map.threaded),
         {}});
  if (functions.contractOracle && !functions.contractOracle(map.contractOracle))
    found.push_back(
        {json.at("contract_oracle").location(),
         "E125",
         fmt::format("function '{}' does not exist in the reference", map.contractOracle),
         {}});
  else if (const std::string entry = isFusion ? "reference_fused" : "reference_" + map.op;
           map.contractOracle != entry)
    found.push_back({json.at("contract_oracle").location(),
                     "E125",
                     fmt::format("function '{}' does not evaluate '{}'; the reference's entry for "
                                 "it is '{}'",
                                 map.contractOracle, map.op, entry),
                     {}});
  for (const char *role : {"production", "threaded"}) {
    const std::string &name = json.at(role).asString();
    const std::string expected = map.id + (role[0] == 't' ? "_threaded" : "");
    if (name != expected)
      found.push_back(
          {json.at(role).location(),
           "E125",
           fmt::format("function '{}' does not exist; '{}' provides '{}'", name, map.id, expected),
           {}});
    else if (functions.provider && !functions.provider(map.id))
      found.push_back({json.at(role).location(),
                       "E125",
                       fmt::format("function '{}' does not exist in the runtime", name),
                       {{{}, "build the tool and its runtime with the kernel's source"}}});
  }
}

void checkMapArguments(const KernelMap &map, std::vector<Diagnostic> &found) {
  std::set<std::string> names, integers;
  for (const Json &argument : map.json.at("arguments").elements())
    if (const Json &name = argument.at("name"); !names.insert(name.asString()).second)
      found.push_back({name.location(),
                       "E206",
                       fmt::format("two arguments of '{}' are named '{}'", map.id, name.asString()),
                       {}});
  for (const MapArgument &argument : map.arguments)
    if (argument.type == "i64")
      integers.insert(argument.name);
  const Json &threading = map.json.at("threading");
  for (const Json &extent : threading.at("extent").elements())
    if (!integers.contains(extent.asString()))
      found.push_back(
          {extent.location(),
           "E126",
           fmt::format("extent '{}' is not an i64 argument of '{}'", extent.asString(), map.id),
           {}});
  if (!has(map.partitions, map.partition))
    found.push_back({threading.at("partition").location(),
                     "E126",
                     fmt::format("partition '{}' is not one of the possible ones: {}",
                                 map.partition, quotedList(map.partitions)),
                     {}});
  if (!has(map.isa, "scalar"))
    found.push_back({map.json.at("isa").location(),
                     "E126",
                     fmt::format("'{}' has no scalar body; every provider has one", map.id),
                     {}});
}

/// Every word of a contract stands in the vocabulary, a closed list. A reduction id is a complete
/// semantic profile; a loose name in its place is E302, another unknown word E301.
void checkWords(const Catalog &catalog, const Contract &contract, std::vector<Diagnostic> &found) {
  const Json *fields = catalog.vocabulary().at("contract_fields").find(contract.family);
  if (!fields)
    return;
  for (const Json::Member &field : fields->members()) {
    const Json *value = findField(contract.json, field.key);
    const Json *words = catalog.vocabulary().at("words").find(field.value.asString());
    if (!value || !value->isString() || !words || words->find(value->asString()))
      continue;
    std::vector<std::string> known;
    for (const Json::Member &word : words->members())
      known.push_back(word.key);
    std::vector<std::string> nearest = nearestNames(value->asString(), known);
    const bool isReduction = field.value.asString() == "reduction";
    const std::string what =
        isReduction ? "reduction id" : "word of '" + field.value.asString() + "'";
    found.push_back(
        {value->location(),
         isReduction ? "E302" : "E301",
         isReduction
             ? fmt::format("'{}' is not a reduction id: an id names a complete semantic profile",
                           value->asString())
             : fmt::format("'{}' is not a {}", value->asString(), what),
         {{words->location(),
           fmt::format("{}s are declared here; {}: {}", isReduction ? "reduction id" : "word",
                       nearest.empty() ? "known" : "nearest",
                       quotedList(nearest.empty() ? known : nearest))}}});
  }
}

} // namespace

const Json *findField(const Json &contract, std::string_view path) {
  const size_t dot = path.find('.');
  const Json *value = contract.find(path.substr(0, dot));
  return dot == std::string_view::npos || !value ? value : findField(*value, path.substr(dot + 1));
}

Diagnostic unknownContract(const Catalog &catalog, const std::string &id,
                           const Location &location) {
  std::vector<std::string> known = keys(catalog.contracts());
  std::vector<std::string> nearest = nearestNames(id, known);
  std::string note = nearest.empty() ? fmt::format("{} contracts are declared in {}", known.size(),
                                                   catalog.paths().contracts)
                                     : "nearest: " + quotedList(nearest);
  return {location,
          "E302",
          fmt::format("'{}' is not a contract id: an id names a complete semantic profile", id),
          {{{}, note}}};
}

std::vector<std::string> wordsOf(const Catalog &catalog, const std::string &list) {
  std::vector<std::string> names;
  if (const Json *words = catalog.vocabulary().at("words").find(list))
    for (const Json::Member &word : words->members())
      names.push_back(word.key);
  return names;
}

/// The sizes of a weight, and those of the KV state, are dimensions of the family; an attribute
/// that an op may leave out has a word then.
void checkFamilies(const Catalog &catalog, std::vector<Diagnostic> &found) {
  const Json &json = catalog.vocabulary().at("families");
  for (const auto &[name, family] : catalog.families()) {
    const Json &operands = json.at(name).at("operands");
    for (const OperandRule &operand : family.operands) {
      std::vector<std::string> needed = operand.shape;
      if (operand.kind == "state")
        needed.insert(needed.end(), {"kv_heads", "head_dim"});
      for (std::string dimension : needed) {
        if (dimension.ends_with("/2"))
          dimension.resize(dimension.size() - 2);
        std::vector<std::string> known = family.dimensions;
        known.erase(std::remove(known.begin(), known.end(), "rows"), known.end());
        requireKnown(fmt::format("a static dimension of '{}'", name), dimension, known,
                     operands.at(operand.name).location(), found);
      }
    }
    for (const auto &[attribute, word] : family.optionalAttributes)
      if (word.empty())
        found.push_back({json.at(name).at("attributes").location(),
                         "E122",
                         fmt::format("attribute '{}' of '{}' is optional, but no word of '{}' is "
                                     "the default",
                                     attribute, name, attribute),
                         {}});
  }
}

void checkContracts(const Catalog &catalog, std::vector<Diagnostic> &found) {
  for (const auto &[id, contract] : catalog.contracts()) {
    const Family &family = catalog.families().at(contract.family);
    for (const Json::Member &operand : contract.json.at("operands").members())
      requireKnown(fmt::format("an operand of '{}'", family.name), operand.key,
                   operandNames(family), operand.keyLocation, found);
    for (const OperandRule &operand : family.operands)
      if (!operand.optional && !contract.storage.contains(operand.name))
        found.push_back(
            {contract.json.at("operands").location(),
             "E301",
             fmt::format("contract '{}' says nothing of operand '{}'", id, operand.name),
             {}});
    if (contract.parts.empty()) // those of parts are contracts themselves
      checkWords(catalog, contract, found);
  }
}

void checkProfiles(const Catalog &catalog, std::vector<Diagnostic> &found) {
  std::vector<std::string> fusions;
  for (const auto &[name, family] : catalog.families())
    if (!family.parts.empty())
      fusions.push_back(name);
  for (const auto &[id, profile] : catalog.profiles()) {
    for (const Json &fusion : profile.json.at("fusions").elements())
      requireKnown("a fusion", fusion.asString(), fusions, fusion.location(), found);
    for (const Json &rule : profile.json.at("rules").elements()) {
      const Json &op = rule.at("op");
      const auto family = catalog.families().find(op.asString());
      if (family == catalog.families().end()) {
        requireKnown("an op family", op.asString(), keys(catalog.families()), op.location(), found);
        continue;
      }
      std::vector<std::string> fields = operandNames(family->second);
      fields.insert(fields.end(), family->second.attributes.begin(),
                    family->second.attributes.end());
      if (const Json *match = rule.find("match"))
        for (const Json::Member &field : match->members()) {
          requireKnown(fmt::format("an operand or attribute of '{}'", op.asString()), field.key,
                       fields, field.keyLocation, found);
          if (family->second.optionalAttributes.contains(field.key))
            requireKnown(fmt::format("a word of '{}'", field.key), field.value.asString(),
                         wordsOf(catalog, field.key), field.value.location(), found);
        }
      const Json &contract = rule.at("contract");
      const auto it = catalog.contracts().find(contract.asString());
      if (it == catalog.contracts().end())
        found.push_back(unknownContract(catalog, contract.asString(), contract.location()));
      else if (it->second.family != op.asString())
        found.push_back({contract.location(),
                         "E123",
                         fmt::format("contract '{}' is of family '{}', not '{}'", it->first,
                                     it->second.family, op.asString()),
                         {}});
    }
  }
}

void checkKernelMaps(const Catalog &catalog, const KnownFunctions &functions,
                     std::vector<Diagnostic> &found) {
  for (const auto &[id, map] : catalog.kernelMaps()) {
    checkMapNames(catalog, map, found);
    const auto family = catalog.families().find(map.op);
    const bool isFusion = family != catalog.families().end() && !family->second.parts.empty();
    checkMapFunctions(map, isFusion, functions, found);
    checkMapArguments(map, found);
  }
}

std::string acceptedRegion(const KernelMap &map) {
  std::string text;
  for (const auto &[name, range] : map.dimensions)
    text += fmt::format("{}{} in {}", text.empty() ? "" : ", ", name, rangeText(range));
  return text.empty() ? "every shape" : text;
}

std::optional<std::vector<std::string>> overlapOf(const KernelMap &a, const KernelMap &b) {
  if (a.op != b.op || a.target != b.target || !intersects(a.phases, b.phases) ||
      !intersects(a.contracts, b.contracts))
    return std::nullopt;
  for (const auto &[name, operand] : a.operands)
    if (auto it = b.operands.find(name);
        it != b.operands.end() && it->second.storage != operand.storage)
      return std::nullopt;
  for (const auto &[name, values] : a.attributes)
    if (auto it = b.attributes.find(name);
        it != b.attributes.end() && !intersects(values, it->second))
      return std::nullopt;
  std::vector<std::string> regions;
  for (const auto &[name, range] : a.dimensions) {
    auto it = b.dimensions.find(name);
    std::optional<DimensionRange> both =
        intersect(range, it == b.dimensions.end() ? DimensionRange{} : it->second);
    if (!both)
      return std::nullopt;
    regions.push_back(fmt::format("{} in {}", name, rangeText(*both)));
  }
  return regions;
}

void checkOverlaps(const Catalog &catalog, std::vector<Diagnostic> &found) {
  for (auto a = catalog.kernelMaps().begin(); a != catalog.kernelMaps().end(); ++a)
    for (auto b = std::next(a); b != catalog.kernelMaps().end(); ++b) {
      std::optional<std::vector<std::string>> overlap = overlapOf(a->second, b->second);
      if (!overlap)
        continue;
      found.push_back(
          {a->second.json.at("id").location(),
           "E102",
           fmt::format(
               "kernels '{}' and '{}' both provide '{}' under one contract; exactly one must match",
               a->first, b->first, a->second.op),
           {{a->second.json.at("id").location(),
             fmt::format("candidate accepts {}", acceptedRegion(a->second))},
            {b->second.json.at("id").location(),
             fmt::format("candidate accepts {}", acceptedRegion(b->second))},
            {{},
             fmt::format("both accept {}; make the ranges disjoint",
                         overlap->empty() ? "every shape"
                                          : fmt::format("{}", fmt::join(*overlap, ", ")))}}});
    }
}

} // namespace writ
