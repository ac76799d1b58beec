//===- MapClaims.cpp - what a map says of itself against its contracts ----===//
//
// A map keeps a contract only where its own fields do not contradict it. What stands in no field,
// evidence has to show: whether the kernel does what its map says.
//
//===----------------------------------------------------------------------===//
#include "compiler/Resolve/ReadCatalog.h"

#include <algorithm>
#include <fmt/format.h>

namespace writ {
namespace {

/// Numbers of a contract at which its arithmetic changes, by the variable that reaches them.
struct Thresholds {
  std::map<std::string, std::vector<int64_t>> numbers;
  Location location; ///< of the last of them; the contract's id where there is none
};

Thresholds thresholdsOf(const Catalog &catalog, const Contract &contract) {
  Thresholds thresholds{{}, contract.json.at("id").location()};
  if (const Json *fields = catalog.vocabulary().find("thresholds"))
    for (const Json::Member &field : fields->members())
      if (const Json *number = findField(contract.json, field.key)) {
        thresholds.numbers[field.value.asString()].push_back(number->asInteger());
        thresholds.location = number->location();
      }
  return thresholds;
}

bool declares(const std::map<std::string, std::vector<int64_t>> &thresholds,
              const std::string &variable, int64_t number) {
  const auto it = thresholds.find(variable);
  return it != thresholds.end() &&
         std::find(it->second.begin(), it->second.end(), number) != it->second.end();
}

/// E303, both ways: a kernel changes its arithmetic where its contract does, and nowhere else.
void checkThresholds(const Catalog &catalog, const KernelMap &map, const Contract &contract,
                     std::vector<Diagnostic> &found) {
  const Thresholds declared = thresholdsOf(catalog, contract);
  std::map<std::string, std::vector<int64_t>> own;
  if (const Json *thresholds = map.json.find("thresholds"))
    for (const Json::Member &variable : thresholds->members())
      for (const Json &number : variable.value.elements()) {
        own[variable.key].push_back(number.asInteger());
        if (declares(declared.numbers, variable.key, number.asInteger()))
          continue;
        const auto it = declared.numbers.find(variable.key);
        const std::string rule = it == declared.numbers.end()
                                     ? "no threshold of it"
                                     : fmt::format("thresholds [{}]", fmt::join(it->second, ", "));
        found.push_back(
            {number.location(),
             "E303",
             fmt::format("kernel splits at {} {}, but contract '{}' declares {}", variable.key,
                         number.asInteger(), contract.id, rule),
             {{declared.location, it == declared.numbers.end() ? "the contract stands here"
                                                               : "thresholds declared here"}}});
      }
  for (const auto &[variable, numbers] : declared.numbers)
    for (const int64_t number : numbers)
      if (!declares(own, variable, number))
        found.push_back({map.json.at("id").location(),
                         "E303",
                         fmt::format("kernel does not say that it splits at {} {}, where contract "
                                     "'{}' changes its arithmetic",
                                     variable, number, contract.id),
                         {{declared.location, "threshold declared here"},
                          {{},
                           fmt::format("a kernel that splits there says \"thresholds\": {{ "
                                       "\"{}\": [{}] }}",
                                       variable, number)}}});
}

/// E128: the storage of an operand, or the value of an attribute that is a field of the contract.
void checkFields(const Catalog &catalog, const KernelMap &map, const Contract &contract,
                 std::vector<Diagnostic> &found) {
  const auto contradicts = [&](const Location &at, const std::string &what,
                               const std::string &claimed, const Json &stated) {
    found.push_back({at,
                     "E128",
                     fmt::format("{} is '{}' in kernel '{}', but '{}' in contract '{}', which it "
                                 "claims to keep",
                                 what, claimed, map.id, stated.asString(), contract.id),
                     {{stated.location(), "the contract states it here"}}});
  };
  const Json &operands = contract.json.at("operands");
  for (const auto &[name, operand] : map.operands)
    if (const Json *stated = operands.find(name))
      if (const Json &storage = stated->at("storage"); storage.asString() != operand.storage)
        contradicts(map.json.at("operands").at(name).at("storage").location(),
                    fmt::format("operand '{}'", name), operand.storage, storage);
  for (const std::string &attribute : catalog.families().at(map.op).attributes)
    if (const Json *stated = contract.json.find(attribute))
      if (const Json *accepted = map.json.at("attributes").find(attribute))
        for (const Json &value : accepted->elements())
          if (stated->isString() && value.asString() != stated->asString())
            contradicts(value.location(), fmt::format("attribute '{}'", attribute),
                        value.asString(), *stated);
}

} // namespace

void checkMapClaims(const Catalog &catalog, std::vector<Diagnostic> &found) {
  for (const auto &[id, map] : catalog.kernelMaps())
    for (const std::string &name : map.contracts) {
      const Contract &contract = catalog.contracts().at(name);
      checkFields(catalog, map, contract, found);
      checkThresholds(catalog, map, contract, found);
    }
}

} // namespace writ
