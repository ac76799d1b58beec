//===- contracts_test.cpp - the contract data is whole --------------------===//
#include "tests/conformance/Bound.h"
#include "tests/conformance/Data.h"

#include "ir/Reference/Reference.h"

#include <gtest/gtest.h>
#include <set>

namespace writ::test {
namespace {

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

/// The fields of a contract that hold no declared word.
std::vector<std::string> faultsOf(const nlohmann::json &contract) {
  std::vector<std::string> faults;
  const nlohmann::json &fields = Data::get().vocabulary["contract_fields"][contract["family"]];
  for (const auto &[field, list] : fields.items()) {
    const nlohmann::json value = fieldOf(contract, field);
    const std::string kind = list;
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

// The contracts here are portable: a word that makes one otherwise stands in none of them.
TEST(C2_Contracts, NoPortableContractHasANonPortableWord) {
  std::set<std::pair<std::string, std::string>> used;
  for (const auto &[id, contract] : Data::get().contracts)
    for (const auto &[field, list] :
         Data::get().vocabulary["contract_fields"][contract["family"]].items())
      if (const nlohmann::json value = fieldOf(contract, field); value.is_string())
        used.emplace(list.get<std::string>(), value.get<std::string>());
  for (const auto &[id, contract] : Data::get().contracts)
    for (const auto &[operand, storage] : contract["operands"].items())
      used.emplace("storage", storage["storage"].get<std::string>());
  for (const auto &[id, word] : words()["reduction"].items())
    for (const char *parameter : {"multiply_add", "merge", "order", "accumulator"})
      if (word.contains(parameter))
        used.emplace(std::string(parameter) == "order"         ? "reduction_order"
                     : std::string(parameter) == "accumulator" ? "precision"
                                                               : parameter,
                     word[parameter].get<std::string>());
  std::set<std::string> lists;
  for (const auto &[family, fields] : Data::get().vocabulary["contract_fields"].items())
    for (const auto &[field, list] : fields.items())
      lists.insert(list);
  for (const std::string inner : {"merge", "reduction_order", "storage"})
    lists.insert(inner);
  for (const auto &[list, entries] : words().items()) {
    EXPECT_TRUE(lists.contains(list)) << "no field takes a word of '" << list << "'";
    for (const auto &[word, entry] : entries.items())
      if (entry.contains("portable")) {
        EXPECT_FALSE(used.contains({list, word})) << list << ": " << word;
      }
  }
}

TEST(C2_Profiles, NameContractsAndCoverEachRequirementOnce) {
  ASSERT_GE(Data::get().profiles.size(), 2u);
  for (const auto &[id, profile] : Data::get().profiles) {
    std::set<std::pair<std::string, std::string>> seen;
    for (const auto &rule : profile["rules"]) {
      const std::string contract = rule["contract"];
      ASSERT_TRUE(Data::get().contracts.contains(contract)) << id << ": " << contract;
      const nlohmann::json &found = Data::get().contracts.at(contract);
      EXPECT_EQ(found["family"], rule["op"]);
      EXPECT_TRUE(seen.insert({rule["op"], rule["match"].dump()}).second)
          << id << ": " << rule.dump();
      // What the rule asks for is what the contract is about.
      for (const auto &[key, value] : rule["match"].items())
        EXPECT_EQ(found["operands"].contains(key) ? found["operands"][key]["storage"]
                                                  : found.value(key, nlohmann::json()),
                  value)
            << id << ": " << rule.dump();
    }
    for (const auto &[family, ignored] : Data::get().vocabulary["families"].items()) {
      const bool quantizes = id == "portable" || family != "quantize_activation";
      EXPECT_EQ(std::any_of(profile["rules"].begin(), profile["rules"].end(),
                            [&, &op = family](const auto &rule) { return rule["op"] == op; }),
                quantizes)
          << id << ", " << family;
    }
  }
}

TEST(C2_Profiles, MatchSetsOfOneFamilyExcludeEachOther) {
  for (const auto &[id, profile] : Data::get().profiles)
    for (const auto &a : profile["rules"])
      for (const auto &b : profile["rules"]) {
        if (a == b || a["op"] != b["op"])
          continue;
        bool exclusive = false;
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
    const std::string formula = contract["bound"]["formula"];
    for (const auto &[name, meaning] : contract["bound"]["variables"].items())
      EXPECT_TRUE(formula.find(name) != std::string::npos ||
                  formula.find("gamma") != std::string::npos)
          << id << ": " << name << " is declared for nothing";
  }
}

TEST(C8_Reference, EveryFamilyHasAnEntryAndNoEntryIsIdle) {
  std::set<std::string> names;
  for (const auto &[family, ignored] : Data::get().vocabulary["families"].items()) {
    EXPECT_NE(reference::findReference("reference_" + family), nullptr) << family;
    names.insert("reference_" + family);
  }
  const std::vector<std::string> entries = reference::referenceNames();
  EXPECT_EQ(names, std::set<std::string>(entries.begin(), entries.end()));
  EXPECT_EQ(reference::findReference("reference_strict"), nullptr);
}

} // namespace
} // namespace writ::test
