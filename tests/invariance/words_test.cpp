//===- words_test.cpp - each word of a contract is seen in its bits --------===//
//
// A field that is read and decides nothing would be a contract that says more than it means. So
// every word of every registered contract is put in the place of another of its list: somewhere the
// reference gives other bits, or refuses the contract, whose other words do not go with it.
//
//===----------------------------------------------------------------------===//
#include "tests/invariance/Histories.h"
#include "tests/invariance/RandomContract.h"

#include <gtest/gtest.h>
#include <iostream>

namespace writ::test {
namespace {

using nlohmann::json;

/// Fields ("family.field", "*" for any) whose words cannot be told apart by bits, and why.
const std::map<std::string, std::string> kUnseen = {
    {"*.activation", "a name, which must be the op's: `function` is its arithmetic"},
    {"*.exceptional.overflow",
     "`impossible` says that no operand leads to what `to_infinity` says"},
};

/// The exception that speaks of "family.field: word", or null.
const std::pair<const std::string, std::string> *exceptionOf(const std::string &name) {
  const std::string field = name.substr(0, name.find(':'));
  for (const auto &exception : kUnseen)
    if (exception.first == field || exception.first == "*" + field.substr(field.find('.')))
      return &exception;
  return nullptr;
}

/// The rows of a contract from a position on, in one step.
std::vector<std::string> bitsOf(const json &contract, Fill fill, int64_t first) {
  const auto problem = historyOf(contract, Data::get().vocabulary, first, 2, fill, 3);
  Way way;
  way.steps = {{}};
  const auto rows = problem->call.dimensions.find("rows");
  for (int64_t row = 0; row < (rows == problem->call.dimensions.end() ? 1 : rows->second); ++row)
    way.steps[0].push_back(static_cast<size_t>(row));
  return resultsOf(*problem, way);
}

enum class Outcome { same, refused, changed };

/// What comes of a contract in which a field has another value.
Outcome replaced(const json &contract, const std::string &field, const json &value) {
  json other = contract;
  setField(other, field, value);
  try {
    // Histories between a threshold that is shrunk and its double, and beyond window and chunks.
    const bool hasHistory = contract["family"] == "attention";
    for (const int64_t first : hasHistory ? std::vector<int64_t>{15, 45} : std::vector<int64_t>{5})
      for (const Fill fill : {Fill::plain, Fill::tiny, Fill::special})
        if (bitsOf(contract, fill, first) != bitsOf(other, fill, first))
          return Outcome::changed;
    return Outcome::same;
  } catch (const reference::ReferenceError &) {
    return Outcome::refused;
  }
}

/// The value of a field ("partition.kind").
json valueOf(const json &contract, const std::string &field) {
  const size_t dot = field.find('.');
  return dot == std::string::npos ? contract.at(field)
                                  : contract.at(field.substr(0, dot)).at(field.substr(dot + 1));
}

/// Values that a field could have in the place of this one.
std::vector<json> othersOf(const std::string &list, const json &value) {
  if (list == "count")
    return {value.get<int64_t>() * 2, value.get<int64_t>() / 2};
  if (list == "hex_float")
    return {"0x1p+10", "0x0p+0"};
  std::vector<json> others;
  for (const auto &[word, ignored] : Data::get().vocabulary["words"][list].items())
    if (word != value && word != "implementation_defined")
      others.emplace_back(word);
  return others;
}

/// The best outcome of all contracts that have the word in the field, of all words in its place.
std::map<std::string, Outcome> outcomes(bool &any) {
  std::map<std::string, Outcome> found;
  std::map<std::string, int> refusing; // contracts in which no other word goes with the rest
  for (const auto &[id, registered] : Data::get().contracts) {
    json contract = registered;
    shrinkPartition(contract);
    const std::string family = contract["family"];
    for (const auto &[field, list] : Data::get().vocabulary["contract_fields"][family].items()) {
      if (!hasField(contract, field))
        continue;
      const json value = valueOf(contract, field);
      const std::string name = family + "." + field + ": " +
                               (value.is_string() ? value.get<std::string>() : value.dump());
      if (found.contains(name) && found.at(name) == Outcome::refused && ++refusing[name] >= 3)
        continue;
      for (const json &other : othersOf(list, value)) {
        const auto seen = found.find(name);
        if (seen != found.end() && seen->second == Outcome::changed)
          break;
        any = true;
        found[name] = std::max(seen == found.end() ? Outcome::same : seen->second,
                               replaced(contract, field, other));
      }
    }
  }
  return found;
}

TEST(Words, C8_F8_EachWordOfAContractIsSeenInItsBits) {
  bool any = false;
  std::map<Outcome, int> counts;
  std::set<std::string> used;
  for (const auto &[name, outcome] : outcomes(any)) {
    ++counts[outcome];
    if (outcome != Outcome::same)
      continue;
    const auto *exception = exceptionOf(name);
    EXPECT_NE(exception, nullptr) << name << ": no other word gives other bits";
    if (exception)
      used.insert(exception->first);
  }
  for (const auto &[field, reason] : kUnseen)
    EXPECT_TRUE(used.contains(field)) << field << " is seen: it is no exception";
  EXPECT_TRUE(any);
  std::cout << counts[Outcome::changed] << " words are seen in the bits, "
            << counts[Outcome::refused] << " cannot be another, " << counts[Outcome::same]
            << " are exceptions\n";
}

// Negative control: a name is no arithmetic.
TEST(Words, N27_AFieldThatDecidesNothingHasTheSameBits) {
  EXPECT_EQ(replaced(Data::get().contracts.at("residual_f32_v0"), "id", "another"), Outcome::same);
}

} // namespace
} // namespace writ::test
