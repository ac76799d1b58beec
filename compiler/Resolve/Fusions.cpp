//===- Fusions.cpp - families that are made of others ---------------------===//
//
// A fusion is a family with parts. It has no arithmetic of its own: its contract is that of its
// parts, one after the other, and its id is theirs, joined.
//
//===----------------------------------------------------------------------===//
#include "compiler/Resolve/ReadCatalog.h"
#include "compiler/Support/Digest.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace writ {
namespace {

/// What the parts of a fusion bring, by its names.
struct Brought {
  std::map<std::string, OperandRule> operands;
  std::set<std::string> dimensions, attributes, numbers;
};

/// The name of a weight's size may be "rope_dims/2".
std::string renamed(const FamilyPart &part, const std::string &size) {
  const size_t slash = size.find('/');
  return part.nameOf(size.substr(0, slash)) +
         (slash == std::string::npos ? "" : size.substr(slash));
}

class FusionCheck {
public:
  FusionCheck(const Catalog &catalog, const Family &fusion, std::vector<Diagnostic> &found)
      : catalog(catalog), fusion(fusion), json(catalog.vocabulary().at("families").at(fusion.name)),
        found(found) {}

  void run() {
    for (size_t i = 0; i < fusion.parts.size(); ++i)
      if (!bring(fusion.parts[i], json.at("parts").elements()[i]))
        return;
    for (const auto &[inner, uses] : innerUses)
      if (uses != std::pair(1, 1))
        fault(json.at("inner").location(),
              fmt::format("'{}' is made by {} and read by {} parts of '{}', not by one each", inner,
                          uses.first, uses.second, fusion.name));
    for (const Json::Member &inner : json.at("inner").members())
      for (const Json &size : inner.value.elements())
        if (size.asString() == "rows" || !brought.dimensions.contains(size.asString()))
          fault(size.location(),
                fmt::format("'{}' of inner value '{}' is no static dimension of '{}'",
                            size.asString(), inner.key, fusion.name));
    compareOperands();
    compare("dimension", "dimensions", fusion.dimensions, brought.dimensions);
    compare("attribute", "attributes", fusion.attributes, brought.attributes);
    compare("number", "numbers", fusion.numbers, brought.numbers);
  }

private:
  void fault(const Location &at, std::string text) {
    found.push_back({at, "E122", std::move(text), {}});
  }

  bool bring(const FamilyPart &part, const Json &at) {
    const auto family = catalog.families().find(part.family);
    if (family == catalog.families().end() || !family->second.parts.empty()) {
      fault(at.at("family").location(),
            fmt::format("'{}' is no op family that a fusion can have as a part", part.family));
      return false;
    }
    for (const OperandRule &operand : family->second.operands) {
      const std::string name = part.nameOf(operand.name);
      const bool makes = operand.kind == "output";
      if (fusion.inner.contains(name)) {
        // made first, then read
        std::pair<int, int> &uses = innerUses[name];
        ++(makes ? uses.first : uses.second);
        if (!makes && uses.first == 0)
          fault(at.location(),
                fmt::format("'{}' reads '{}', which no part before it makes", part.family, name));
        continue;
      }
      OperandRule own = operand;
      own.name = name;
      for (std::string &size : own.shape)
        size = renamed(part, size);
      if (!brought.operands.emplace(name, own).second)
        fault(at.location(),
              fmt::format("two parts of '{}' have an operand '{}'; one needs another "
                          "name, or it is an inner value",
                          fusion.name, name));
    }
    for (const std::string &name : family->second.dimensions)
      brought.dimensions.insert(part.nameOf(name));
    for (const std::string &name : family->second.attributes)
      brought.attributes.insert(part.nameOf(name));
    for (const std::string &name : family->second.numbers)
      brought.numbers.insert(part.nameOf(name));
    return true;
  }

  void compareOperands() {
    for (const OperandRule &operand : fusion.operands) {
      const auto it = brought.operands.find(operand.name);
      if (it == brought.operands.end() || it->second.kind != operand.kind ||
          it->second.optional != operand.optional || it->second.shape != operand.shape)
        fault(json.at("operands").at(operand.name).location(),
              fmt::format("'{}' is no such operand of a part of '{}'", operand.name, fusion.name));
      else
        brought.operands.erase(it);
    }
    for (const auto &[name, operand] : brought.operands)
      fault(json.at("operands").location(),
            fmt::format("operand '{}' of a part of '{}' is missing", name, fusion.name));
  }

  void compare(const char *what, const char *field, const std::vector<std::string> &stated,
               const std::set<std::string> &needed) {
    for (const std::string &name : needed)
      if (std::find(stated.begin(), stated.end(), name) == stated.end())
        fault(json.at(field).location(),
              fmt::format("{} '{}' of a part of '{}' is missing", what, name, fusion.name));
    for (const std::string &name : stated)
      if (!needed.contains(name))
        fault(json.at(field).location(),
              fmt::format("'{}' is no {} of a part of '{}'", name, what, fusion.name));
  }

  const Catalog &catalog;
  const Family &fusion;
  const Json &json;
  std::vector<Diagnostic> &found;
  Brought brought;
  std::map<std::string, std::pair<int, int>> innerUses; ///< made by, read by
};

std::vector<std::string> split(const std::string &id) {
  std::vector<std::string> parts(1);
  for (const char c : id)
    if (c == '+')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

} // namespace

void checkFusions(const Catalog &catalog, std::vector<Diagnostic> &found) {
  for (const auto &[name, family] : catalog.families())
    if (!family.parts.empty())
      FusionCheck(catalog, family, found).run();
}

std::string composedId(const std::vector<std::string> &contracts) {
  return fmt::format("{}", fmt::join(contracts, "+"));
}

Contract composeContract(const Catalog &catalog, const Family &fusion, const Json &id) {
  Contract composed;
  composed.id = id.asString();
  composed.family = fusion.name;
  composed.parts = split(composed.id);
  if (composed.parts.size() != fusion.parts.size())
    throw Error(
        id.location(), "E123",
        fmt::format("'{}' names {} contracts, but fusion '{}' has {} parts; they are joined "
                    "by '+', in order",
                    composed.id, composed.parts.size(), fusion.name, fusion.parts.size()));
  nlohmann::json json = {{"schema", "writ.contract.v1"},
                         {"id", composed.id},
                         {"family", fusion.name},
                         {"operands", nlohmann::json::object()},
                         {"parts", nlohmann::json::array()}};
  std::map<std::string, std::string> inner;
  for (size_t i = 0; i < fusion.parts.size(); ++i) {
    const FamilyPart &part = fusion.parts[i];
    const auto it = catalog.contracts().find(composed.parts[i]);
    if (it == catalog.contracts().end())
      throw Error(unknownContract(catalog, composed.parts[i], id.location()));
    const Contract &contract = it->second;
    if (contract.family != part.family)
      throw Error(id.location(), "E123",
                  fmt::format("contract '{}' is of family '{}', but part {} of '{}' is '{}'",
                              contract.id, contract.family, i + 1, fusion.name, part.family));
    for (const auto &[operand, storage] : contract.storage) {
      const std::string name = part.nameOf(operand);
      if (!fusion.inner.contains(name)) {
        composed.storage[name] = storage;
        json["operands"][name] = {{"storage", storage}};
      } else if (const auto made = inner.emplace(name, storage); made.first->second != storage) {
        throw Error(id.location(), "E123",
                    fmt::format("contract '{}' reads '{}' as {}, but the part before makes {}",
                                contract.id, name, storage, made.first->second));
      }
    }
    json["parts"].push_back(contract.json.plain());
  }
  composed.digest = sha256Json(json);
  composed.json = parseJson(json.dump(), id.location().file).placedAt(id.location());
  return composed;
}

} // namespace writ
