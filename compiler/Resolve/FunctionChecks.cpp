//===- FunctionChecks.cpp - faults of functions.json that no schema sees --===//
//
// What the functions are to each other and to the vocabulary: a call leads to another function and
// never back, each function is a word or is called, and each list of words is taken by a field. One
// function by itself: FunctionChecker.
//
//===----------------------------------------------------------------------===//
#include "compiler/Resolve/FunctionChecker.h"
#include "compiler/Resolve/ReadCatalog.h"

#include <fmt/format.h>
#include <map>
#include <set>

namespace writ {
namespace {

using Calls = std::map<std::string, std::vector<FunctionCall>>;

/// Lengthens a way along the calls until it comes back to its first function; false where none
/// does. No function is tried twice.
bool findCycle(const Calls &calls, std::vector<std::string> &way, std::set<std::string> &tried) {
  for (const auto &[called, at] : calls.at(way.back())) {
    if (called != way.front() && !tried.insert(called).second)
      continue;
    way.push_back(called);
    if (called == way.front() || findCycle(calls, way, tried))
      return true;
    way.pop_back();
  }
  return false;
}

} // namespace

void checkFunctions(const Json &functions, const Json &vocabulary, std::vector<Diagnostic> &found) {
  std::vector<std::string> names;
  std::set<std::string> declared;
  const Json *words = vocabulary.at("words").find("function");
  for (const Json &function : functions.at("functions").elements()) {
    const Json &name = function.at("name");
    if (!declared.insert(name.asString()).second)
      found.push_back({name.location(),
                       "E306",
                       fmt::format("function '{}' is declared twice", name.asString()),
                       {}});
    names.push_back(name.asString());
  }
  Calls calls;
  std::set<std::string> called;
  for (const Json &function : functions.at("functions").elements()) {
    auto &own = calls[function.at("name").asString()];
    own = checkFunction(function, names, found);
    for (const auto &[other, at] : own)
      called.insert(other);
  }
  for (const Json &function : functions.at("functions").elements()) {
    const Json &name = function.at("name");
    std::vector<std::string> way = {name.asString()};
    std::set<std::string> tried;
    if (findCycle(calls, way, tried))
      found.push_back(
          {calls.at(name.asString()).front().second,
           "E306",
           fmt::format("function '{}' calls itself: {}", name.asString(), fmt::join(way, " -> ")),
           {}});
    if (!called.contains(name.asString()) && !(words && words->contains(name.asString())))
      found.push_back({name.location(),
                       "E307",
                       fmt::format("function '{}' is no word of 'function', and no function calls "
                                   "it",
                                   name.asString()),
                       {{vocabulary.at("words").location(), "words are declared here"}}});
  }
}

void checkWordLists(const Catalog &catalog, std::vector<Diagnostic> &found) {
  std::set<std::string> taken = {"storage"}; // of operands
  for (const Json::Member &family : catalog.vocabulary().at("contract_fields").members())
    for (const Json::Member &field : family.value.members())
      taken.insert(field.value.asString());
  for (const auto &[name, family] : catalog.families()) // of ops, by which a profile chooses
    for (const auto &[attribute, word] : family.optionalAttributes)
      taken.insert(attribute);
  taken.insert(catalog.invariance().partLists.begin(), catalog.invariance().partLists.end());
  for (const Json::Member &list : catalog.vocabulary().at("words").members())
    if (!taken.contains(list.key))
      found.push_back(
          {list.keyLocation,
           "E307",
           fmt::format("no field takes a word of '{}'", list.key),
           {{catalog.vocabulary().at("contract_fields").location(), "fields are declared here"}}});
}

} // namespace writ
