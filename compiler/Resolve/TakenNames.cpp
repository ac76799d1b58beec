//===- TakenNames.cpp - what the words of a contract need beside them -----===//
#include "compiler/Resolve/TakenNames.h"

#include "compiler/Resolve/ReadCatalog.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace writ {
namespace {

void addTakers(const Json &word, const TakenNames::Taker &taker, TakenNames &into) {
  for (auto [key, takers] :
       {std::pair("takes", &into.fields), {"operands", &into.operands}, {"numbers", &into.numbers}})
    if (const Json *names = word.find(key))
      for (const Json &name : names->elements())
        (*takers)[name.asString()].push_back(taker);
}

/// The list of words that a field of the contract is of; null where the field holds a number.
const Json *wordsOf(const Catalog &catalog, const Json::Member &field) {
  return catalog.vocabulary().at("words").find(field.value.asString());
}

std::vector<std::string> describeAll(const std::vector<TakenNames::Taker> &takers) {
  std::vector<std::string> texts;
  for (const TakenNames::Taker &taker : takers)
    texts.push_back(describe(taker));
  return texts;
}

/// One kind of what `contract` may have: each name is there exactly where a word takes it.
void compare(const Contract &contract, const std::string &what, const TakenNames::Takers &possible,
             const TakenNames::Takers &taken,
             const std::function<std::optional<Location>(const std::string &)> &place,
             std::vector<Diagnostic> &found) {
  for (const auto &[name, takers] : possible) {
    const auto taker = taken.find(name);
    const std::optional<Location> given = place(name);
    if (taker != taken.end() && !given)
      found.push_back({taker->second[0].location,
                       "E301",
                       fmt::format("contract '{}' has no {} '{}', which {} takes", contract.id,
                                   what, name, describe(taker->second[0])),
                       {}});
    else if (taker == taken.end() && given)
      found.push_back({*given,
                       "E301",
                       fmt::format("{} '{}' of contract '{}' is taken by none of its words", what,
                                   name, contract.id),
                       {{takers[0].location,
                         fmt::format("it is taken by {}", fmt::join(describeAll(takers), ", "))}}});
  }
}

void checkContract(const Catalog &catalog, const Contract &contract,
                   std::vector<Diagnostic> &found) {
  const TakenNames possible = takenInFamily(catalog, contract.family);
  const TakenNames taken = takenBy(catalog, contract);
  const auto placeOf = [](const Json *value) {
    return value ? std::optional(value->location()) : std::nullopt;
  };
  compare(
      contract, "field", possible.fields, taken.fields,
      [&](const std::string &name) { return placeOf(findField(contract.json, name)); }, found);
  compare(
      contract, "operand", possible.operands, taken.operands,
      [&](const std::string &name) { return placeOf(contract.json.at("operands").find(name)); },
      found);
}

/// A word takes what some family that has the word's list has, too: a field of its contracts, an
/// optional operand, an optional number.
void checkWord(const Catalog &catalog, const std::string &list, const Json::Member &word,
               std::vector<Diagnostic> &found) {
  const Json &contractFields = catalog.vocabulary().at("contract_fields");
  const auto check = [&](const char *key, const char *what, auto has) {
    const Json *names = word.value.find(key);
    if (!names)
      return;
    for (const Json &name : names->elements()) {
      const auto &families = contractFields.members();
      if (std::none_of(families.begin(), families.end(), [&](const Json::Member &family) {
            const auto &fields = family.value.members();
            return std::any_of(fields.begin(), fields.end(),
                               [&](const Json::Member &f) { return f.value.asString() == list; }) &&
                   has(family, name.asString());
          }))
        found.push_back(
            {name.location(),
             "E301",
             fmt::format("word '{}' of '{}' takes '{}', which is no {} of a family with "
                         "such a word",
                         word.key, list, name.asString(), what),
             {}});
    }
  };
  check("takes", "contract field", [](const Json::Member &family, const std::string &name) {
    return family.value.contains(name);
  });
  check("operands", "optional operand", [&](const Json::Member &family, const std::string &name) {
    const auto &operands = catalog.families().at(family.key).operands;
    return std::any_of(operands.begin(), operands.end(), [&](const OperandRule &operand) {
      return operand.optional && operand.name == name;
    });
  });
  check("numbers", "optional number", [&](const Json::Member &family, const std::string &name) {
    return catalog.families().at(family.key).optionalNumbers.contains(name);
  });
}

} // namespace

std::string describe(const TakenNames::Taker &taker) {
  return fmt::format("'{}' of '{}'", taker.word, taker.list);
}

TakenNames takenBy(const Catalog &catalog, const Contract &contract) {
  TakenNames taken;
  for (const Json::Member &field :
       catalog.vocabulary().at("contract_fields").at(contract.family).members()) {
    const Json *words = wordsOf(catalog, field);
    const Json *value = words ? findField(contract.json, field.key) : nullptr;
    if (const Json *word = value ? words->find(value->asString()) : nullptr)
      addTakers(*word, {field.key, value->asString(), value->location()}, taken);
  }
  return taken;
}

TakenNames takenInFamily(const Catalog &catalog, const std::string &family) {
  TakenNames taken;
  std::set<std::string> lists; // several fields may be of one list
  for (const Json::Member &field : catalog.vocabulary().at("contract_fields").at(family).members())
    if (const Json *words = wordsOf(catalog, field);
        words && lists.insert(field.value.asString()).second)
      for (const Json::Member &word : words->members())
        addTakers(word.value, {field.value.asString(), word.key, word.keyLocation}, taken);
  return taken;
}

void checkTakenNames(const Catalog &catalog, std::vector<Diagnostic> &found) {
  for (const Json::Member &list : catalog.vocabulary().at("words").members())
    for (const Json::Member &word : list.value.members())
      checkWord(catalog, list.key, word, found);
  for (const auto &[id, contract] : catalog.contracts())
    if (contract.parts.empty())
      checkContract(catalog, contract, found);
}

} // namespace writ
