//===- contracts_test.cpp - the contract data is whole --------------------===//
#include "ir/Reference/Bound.h"
#include "tests/conformance/Data.h"

#include "ir/Reference/Reference.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <tuple>

namespace writ::test {
namespace {

using reference::evaluateBound;

const nlohmann::json &words() {
  return Data::get().vocabulary["words"];
}

/// The value of "a" or "a.b".
nlohmann::json fieldOf(const nlohmann::json &contract, const std::string &field) {
  const size_t dot = field.find('.');
  if (dot == std::string::npos)
    return contract.value(field, nlohmann::json());
  return contract.at(field.substr(0, dot)).value(field.substr(dot + 1), nlohmann::json());
}

/// Whether a field is there only beside words that take it.
bool isTaken(const std::string &family, const std::string &field) {
  for (const auto &[other, list] : Data::get().vocabulary["contract_fields"][family].items())
    if (words().contains(list))
      for (const auto &[word, entry] : words()[list].items())
        for (const auto &name : entry.value("takes", nlohmann::json::array()))
          if (name == field)
            return true;
  return false;
}

/// The fields of a contract that hold no declared word.
std::vector<std::string> faultsOf(const nlohmann::json &contract) {
  std::vector<std::string> faults;
  const nlohmann::json &fields = Data::get().vocabulary["contract_fields"][contract["family"]];
  for (const auto &[field, list] : fields.items()) {
    const nlohmann::json value = fieldOf(contract, field);
    const std::string kind = list;
    if (value.is_null() && isTaken(contract["family"], field))
      continue; // whether it may be absent is the catalog's check
    const bool fits = kind == "count"       ? value.is_number_integer()
                      : kind == "hex_float" ? value.is_string()
                                            : value.is_string() && words()[kind].contains(value);
    if (!fits)
      faults.push_back(field);
  }
  for (const auto &[operand, storage] : contract["operands"].items())
    if (!words()["storage"].contains(storage["storage"]))
      faults.push_back(operand);
  return faults;
}

TEST(C2_Contracts, EveryWordIsOfTheVocabulary) {
  ASSERT_FALSE(Data::get().contracts.empty());
  for (const auto &[id, contract] : Data::get().contracts)
    EXPECT_TRUE(faultsOf(contract).empty()) << id << ": " << faultsOf(contract).front();
}

// Negative control, and C2: a loose name is no word.
TEST(C2_Contracts, LooseNamesAreNoWords) {
  for (const std::string loose : {"fp16", "strict", "fast", "deterministic"}) {
    nlohmann::json contract = Data::get().contracts.at("linear_f32_v0");
    contract["reduction"] = loose;
    EXPECT_EQ(faultsOf(contract), std::vector<std::string>{"reduction"});
    EXPECT_FALSE(Data::get().contracts.contains(loose));
  }
}

/// What a word lets decide, by its own note; a reduction also by the words that it is made of.
std::set<std::string> variesWith(const std::string &list, const std::string &word) {
  std::set<std::string> varies;
  const nlohmann::json &entry = words()[list][word];
  for (const std::string dimension : entry.value("varies_with", nlohmann::json::array()))
    varies.insert(dimension);
  if (list == "reduction")
    for (const auto &[member, of] : {std::pair("multiply_add", "multiply_add"),
                                     {"merge", "merge"},
                                     {"order", "reduction_order"},
                                     {"accumulator", "precision"}})
      if (entry.contains(member))
        varies.merge(variesWith(of, entry[member]));
  return varies;
}

/// What the words of a contract let decide over its bits.
std::set<std::string> variesWith(const nlohmann::json &contract) {
  std::set<std::string> varies;
  for (const auto &[field, list] :
       Data::get().vocabulary["contract_fields"][contract["family"]].items())
    if (const nlohmann::json value = fieldOf(contract, field);
        value.is_string() && words().contains(list))
      varies.merge(variesWith(list, value));
  return varies;
}

// A profile that is portable promises everything, so nothing but operands decides in its contracts.
// (That a contract with another word derives what the word breaks is derivation_test's claim.)
TEST(C2_Contracts, APortableProfileHasNoContractWithANonPortableWord) {
  int open = 0;
  for (const std::string profile : {"portable", "f32", "bf16"})
    for (const auto &rule : Data::get().profiles.at(profile)["rules"]) {
      const nlohmann::json &contract = Data::get().contracts.at(rule["contract"]);
      EXPECT_TRUE(variesWith(contract).empty()) << profile << ": " << rule["contract"]
                                                << " varies with " << *variesWith(contract).begin();
    }
  // Negative control: each word that is not portable is seen where a contract has it.
  for (const auto &[id, contract] : Data::get().contracts)
    for (const auto &[field, list] :
         Data::get().vocabulary["contract_fields"][contract["family"]].items()) {
      if (!words().contains(list) || !fieldOf(contract, field).is_string())
        continue;
      for (const auto &[word, entry] : words()[list.get<std::string>()].items()) {
        if (!entry.contains("portable"))
          continue;
        nlohmann::json altered = contract;
        const size_t dot = field.find('.');
        (dot == std::string::npos ? altered[field]
                                  : altered[field.substr(0, dot)][field.substr(dot + 1)]) = word;
        EXPECT_FALSE(variesWith(altered).empty()) << id << ", " << field << ": " << word;
        ++open;
      }
    }
  EXPECT_GT(open, 100);
}

/// The optional numbers and operands that the words of a contract take.
std::set<std::string> takenBy(const nlohmann::json &contract) {
  std::set<std::string> taken;
  for (const auto &[field, list] :
       Data::get().vocabulary["contract_fields"][contract["family"]].items()) {
    const nlohmann::json value = fieldOf(contract, field);
    if (!words().contains(list) || !value.is_string())
      continue;
    const nlohmann::json &word = words()[list.get<std::string>()][value.get<std::string>()];
    for (const char *kind : {"numbers", "operands"})
      for (const auto &name : word.value(kind, nlohmann::json::array()))
        taken.insert(name.get<std::string>());
  }
  return taken;
}

/// The families of the ops of all circuits.
void collectFamilies(const nlohmann::json &json, std::set<std::string> &families) {
  if (json.is_object() && json.contains("op") && json["op"].is_string())
    families.insert(json["op"].get<std::string>());
  for (const auto &inner : json)
    if (inner.is_structured())
      collectFamilies(inner, families);
}

TEST(C2_Profiles, NameContractsAndCoverEachRequirementOnce) {
  ASSERT_GE(Data::get().profiles.size(), 2u);
  for (const auto &[id, profile] : Data::get().profiles) {
    std::set<std::tuple<std::string, std::string, std::set<std::string>>> seen;
    for (const auto &rule : profile["rules"]) {
      const std::string contract = rule["contract"];
      ASSERT_TRUE(Data::get().contracts.contains(contract)) << id << ": " << contract;
      const nlohmann::json &found = Data::get().contracts.at(contract);
      EXPECT_EQ(found["family"], rule["op"]);
      EXPECT_TRUE(seen.insert({rule["op"], rule["match"].dump(), takenBy(found)}).second)
          << id << ": " << rule.dump();
      // What the rule asks for is what the contract is about; an optional attribute only chooses
      // it.
      const nlohmann::json &attributes =
          Data::get().vocabulary["families"][found["family"]]["attributes"];
      for (const auto &[key, value] : rule["match"].items()) {
        if (std::find(attributes.begin(), attributes.end(), "optional " + key) != attributes.end())
          continue;
        EXPECT_EQ(found["operands"].contains(key) ? found["operands"][key]["storage"]
                                                  : found.value(key, nlohmann::json()),
                  value)
            << id << ": " << rule.dump();
      }
    }
    // Every op that a circuit has and a kernel computes has a contract; of a fusion, every part.
    std::set<std::string> families, asked;
    for (const auto &entry :
         std::filesystem::directory_iterator(std::string(WRIT_SOURCE_DIR) + "/circuits"))
      if (entry.path().extension() == ".json")
        collectFamilies(nlohmann::json::parse(std::ifstream(entry.path())), asked);
    for (const auto &[kernel, map] : Data::get().kernelMaps) {
      const std::string family = map["op"];
      const nlohmann::json &rules = Data::get().vocabulary["families"][family];
      if (!rules.contains("parts") && asked.contains(family))
        families.insert(family);
      else if (rules.contains("parts"))
        for (const auto &part : rules["parts"])
          families.insert(part["family"].get<std::string>());
    }
    for (const std::string &family : families)
      EXPECT_TRUE(std::any_of(profile["rules"].begin(), profile["rules"].end(),
                              [&](const auto &rule) { return rule["op"] == family; }))
          << id << ", " << family;
  }
}

// Or their contracts take different things, by which one of them is chosen.
TEST(C2_Profiles, MatchSetsOfOneFamilyExcludeEachOther) {
  for (const auto &[id, profile] : Data::get().profiles)
    for (const auto &a : profile["rules"])
      for (const auto &b : profile["rules"]) {
        if (a == b || a["op"] != b["op"])
          continue;
        bool exclusive = takenBy(Data::get().contracts.at(a["contract"])) !=
                         takenBy(Data::get().contracts.at(b["contract"]));
        for (const auto &[key, value] : a["match"].items())
          exclusive = exclusive || (b["match"].contains(key) && b["match"][key] != value);
        EXPECT_TRUE(exclusive) << id << ": " << a.dump() << " and " << b.dump();
      }
}

TEST(F8_Bounds, FormulasUseTheirVariablesAndNoOther) {
  for (const auto &[id, contract] : Data::get().contracts) {
    std::map<std::string, double> variables;
    for (const auto &[name, meaning] : contract["bound"]["variables"].items())
      if (name != "u" && name != "eta")
        variables[name] = 1;
    EXPECT_GE(evaluateBound(contract, variables), 0) << id;
    EXPECT_NO_THROW(reference::checkBound(contract)) << id;
  }
}

/// What is wrong with a contract whose bound is this; "" for nothing.
std::string faultOfBound(const std::string &id, const std::string &formula,
                         const std::map<std::string, std::string> &more = {}) {
  nlohmann::json contract = Data::get().contracts.at(id);
  contract["bound"]["formula"] = formula;
  for (const auto &[name, meaning] : more)
    contract["bound"]["variables"][name] = meaning;
  try {
    reference::checkBound(contract);
    return "";
  } catch (const reference::ContractError &error) {
    return error.field() + ": " + error.fault();
  }
}

// Negative control: of each contract and each of its variables, a name more and a name less.
TEST(F8_Bounds, AVariableMoreOrLessIsSeen) {
  for (const auto &[id, contract] : Data::get().contracts) {
    const std::string formula = contract["bound"]["formula"];
    EXPECT_EQ(faultOfBound(id, formula, {{"abs", "of something"}}),
              "bound.variables.abs: variable 'abs' of the bound is not in its formula");
    EXPECT_EQ(faultOfBound(id, "(" + formula + ") * abs"),
              "bound.formula: bound '(" + formula + ") * abs', column " +
                  std::to_string(formula.size() + 6) + ": 'abs' is no declared variable");
    for (const auto &[name, meaning] : contract["bound"]["variables"].items())
      EXPECT_EQ(faultOfBound(id, "1").find("bound.variables."), 0u) << id << ", " << name;
  }
  // `u` is used where gamma is, and only there does the letter stand for nothing.
  EXPECT_EQ(faultOfBound("residual_f32_v0", "gamma(2) * abs_exact"), "");
  EXPECT_EQ(faultOfBound("residual_f32_v0", "2 * abs_exact"),
            "bound.variables.u: variable 'u' of the bound is not in its formula");
  EXPECT_EQ(faultOfBound("kv_store_f16_v0", "gamma(2) * abs_exact"),
            "bound.formula: bound 'gamma(2) * abs_exact' needs 'u', which is not declared");
}

TEST(F8_Bounds, WhatCannotBeReadIsRefusedWithItsColumn) {
  const auto expectFault = [](const std::string &formula, const std::string &text) {
    EXPECT_EQ(faultOfBound("residual_f32_v0", formula),
              "bound.formula: bound '" + formula + "', column " + text);
  };
  expectFault("(((", "4: expected a number, a variable or '('");
  expectFault("u * abs_exact)", "14: the formula ends before");
  expectFault("(u * abs_exact", "15: expected ')'");
  expectFault("u * ", "5: expected a number, a variable or '('");
  expectFault("gamma(nothing) * abs_exact", "7: 'nothing' is no declared variable");
  expectFault("u * sqrt(abs_exact)", "5: 'sqrt' is no function of bounds of 1 argument");
  expectFault("u * max(abs_exact)", "5: 'max' is no function of bounds of 1 argument");
}

TEST(C8_Reference, EveryFamilyHasAnEntryAndNoEntryIsIdle) {
  std::set<std::string> names;
  for (const auto &[family, rules] : Data::get().vocabulary["families"].items()) {
    const std::string entry = rules.contains("parts") ? "reference_fused" : "reference_" + family;
    EXPECT_NE(reference::findReference(entry), nullptr) << family;
    names.insert(entry);
  }
  const std::vector<std::string> entries = reference::referenceNames();
  EXPECT_EQ(names, std::set<std::string>(entries.begin(), entries.end()));
  EXPECT_EQ(reference::findReference("reference_strict"), nullptr);
}

} // namespace
} // namespace writ::test
