//===- derivation_test.cpp - what is derived against what is seen ---------===//
//
// A contract's invariance is derived from its words. Here its arithmetic runs, in the reference,
// and its bits may change where the derivation says so, and nowhere else; and each word that breaks
// a dimension is seen to.
//
//===----------------------------------------------------------------------===//
#include "compiler/Resolve/Invariance.h"
#include "compiler/Resolve/ReadCatalog.h"
#include "tests/diagnostics/EditedTree.h"
#include "tests/invariance/Histories.h"
#include "tests/invariance/RandomContract.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <iostream>
#include <set>

namespace writ::test {
namespace {

using reference::ReferenceError;
using Claim = std::tuple<std::string, std::string, std::string>; ///< list, word, dimension

/// A contract that was run, and what changed.
struct Observation {
  nlohmann::json contract;
  std::string name;
  std::vector<Change> changes;
};

/// The project's data with reductions that no contract has.
class Tree : public EditedTree {
public:
  Tree() {
    Random random(7);
    const nlohmann::ordered_json words = drawReductions(Data::get().vocabulary, random);
    edit(kVocabulary, [&](Value &json) {
      for (const auto &[id, word] : words.items())
        json["words"]["reduction"][id] = word;
    });
  }
  /// No word breaks the dimension any more, says this tree.
  void forget(const std::string &dimension) const {
    const auto without = [&](Value names) {
      names.erase(std::remove(names.begin(), names.end(), dimension), names.end());
      return names;
    };
    edit(kInvariance, [&](Value &json) {
      for (auto &[list, rules] : json["words"].items()) {
        const Value breaks = rules.value("breaks", Value::object());
        for (const auto &[word, rule] : breaks.items()) {
          const Value left = without(rule["dimensions"]);
          rules["breaks"][word]["dimensions"] = left;
          if (left.empty()) {
            rules["breaks"].erase(word);
            rules["neutral"].push_back(word);
          }
        }
      }
    });
    edit(kVocabulary, [&](Value &json) {
      for (auto &[list, words] : json["words"].items())
        for (auto &[id, word] : words.items())
          if (word.contains("varies_with")) {
            word["varies_with"] = without(word["varies_with"]);
            if (word["varies_with"].empty())
              for (const char *said : {"portable", "varies_with"})
                word.erase(said);
          }
    });
  }
};

struct Shared {
  Tree tree;
  Catalog catalog = tree.load();
  nlohmann::json vocabulary = catalog.vocabulary().plain();

  static const Shared &get() {
    static const Shared shared;
    return shared;
  }
};

ContractInvariance derive(const Catalog &catalog, const nlohmann::json &contract) {
  return deriveInvariance(catalog, readContract(parseJson(contract.dump(1), "drawn.json")));
}

/// The changes that the derivation does not allow.
std::vector<std::string> violations(const ContractInvariance &derived, const Observation &seen) {
  std::vector<std::string> found;
  for (const Change &change : seen.changes) {
    const auto against = derived.against(change.dimension);
    const bool allowed = std::any_of(against.begin(), against.end(), [&](const auto *field) {
      return !field->from || (field->variable == "kv_len" && change.kvLength >= *field->from);
    });
    if (!allowed)
      found.push_back(seen.name + ": " + change.way + " changes row " + std::to_string(change.row) +
                      " (kv_len " + std::to_string(change.kvLength) +
                      "), but the contract derives invariance under " + change.dimension);
  }
  return found;
}

/// Runs the contract on these kinds of values, over histories that cross its threshold; longer ones
/// where the reference is quick.
Observation observe(const nlohmann::json &contract, const std::string &name,
                    const std::vector<Fill> &fills, uint64_t seed) {
  static const std::set<std::string> quick = {"residual", "select_rows", "kv_store", "rope",
                                              "quantize_activation"};
  Observation seen{contract, name, {}};
  const int64_t steps = quick.contains(contract["family"].get<std::string>()) ? 36 : 8;
  for (const Fill fill : fills) {
    const auto problem = historyOf(contract, Shared::get().vocabulary, 5, steps, fill, seed);
    for (Change &change : changesOf(*problem))
      seen.changes.push_back(std::move(change));
  }
  return seen;
}

/// Every field of a contract that takes a word of the list, and the words of a list that hold the
/// word: itself, or a reduction of which it is a part.
std::vector<DrawnContract> contractsWith(const std::string &list, const std::string &word) {
  const nlohmann::json &vocabulary = Shared::get().vocabulary;
  std::vector<std::pair<std::string, std::string>> holders = {{list, word}};
  const char *part = list == "reduction_order" ? "order" : list.c_str();
  for (const auto &[id, entry] : vocabulary["words"]["reduction"].items())
    if (entry.value(part, "") == word)
      holders.emplace_back("reduction", id);
  std::vector<DrawnContract> all;
  for (const auto &[id, registered] : Data::get().contracts)
    for (const auto &[field, of] : vocabulary["contract_fields"][registered["family"]].items())
      for (const auto &[holder, name] : holders)
        if (of == holder && hasField(registered, field)) {
          DrawnContract drawn{registered, id + " with " + field + "=" + name};
          shrinkPartition(drawn.json);
          setField(drawn.json, field, name);
          all.push_back(std::move(drawn));
        }
  return all;
}

/// What words that break something were seen to do, each in contracts in which nothing else does.
struct WordRuns {
  std::vector<Observation> observations;
  std::set<Claim> seen;
  std::map<std::pair<std::string, std::string>, std::string> refusals; ///< the last, of a word

  /// Runs a word in one contract of every family that can have it, and in two while a dimension
  /// that it is said to break was not seen to change.
  void run(const std::string &list, const std::string &word, std::set<std::string> wanted);
};

void WordRuns::run(const std::string &list, const std::string &word, std::set<std::string> wanted) {
  std::map<std::string, int> done; // by family
  for (const DrawnContract &drawn : contractsWith(list, word)) {
    const std::string family = drawn.json["family"];
    if (done[family] >= (wanted.empty() ? 1 : 2))
      continue;
    try {
      Observation observation = observe(drawn.json, drawn.changes, {Fill::plain, Fill::tiny}, 11);
      ++done[family];
      for (const Change &change : observation.changes) {
        wanted.erase(change.dimension);
        seen.insert({list, word, change.dimension});
      }
      observations.push_back(std::move(observation));
    } catch (const ReferenceError &error) {
      refusals[{list, word}] = error.what();
    }
  }
}

/// All words that break something.
WordRuns runWords() {
  WordRuns runs;
  for (const auto &[list, rules] : Shared::get().catalog.invariance().lists)
    for (const auto &[word, causes] : rules.words) {
      std::set<std::string> breaks;
      for (const InvarianceCause &cause : causes)
        breaks.insert(cause.breaks.begin(), cause.breaks.end());
      if (!breaks.empty() && Data::get().vocabulary["words"][list].contains(word))
        runs.run(list, word, breaks);
    }
  return runs;
}

/// What the rules say that words break.
std::set<Claim> claimsOf(const Catalog &catalog) {
  std::set<Claim> claims;
  for (const auto &[list, rules] : catalog.invariance().lists)
    for (const auto &[word, causes] : rules.words)
      for (const InvarianceCause &cause : causes)
        for (const std::string &dimension : cause.breaks)
          if (Data::get().vocabulary["words"][list].contains(word)) // not those of this test
            claims.insert({list, word, dimension});
  return claims;
}

std::string textOf(const Claim &claim) {
  return "'" + std::get<1>(claim) + "' of '" + std::get<0>(claim) + "' breaks " +
         std::get<2>(claim);
}

/// The changes that the tree's own rules do not allow.
void expectNoViolation(const Observation &seen) {
  const std::vector<std::string> wrong =
      violations(derive(Shared::get().catalog, seen.contract), seen);
  EXPECT_TRUE(wrong.empty()) << wrong.size() << " such, the first: " << wrong.front();
}

/// The violations of a dimension that these rules let forget.
size_t violationsOf(const std::string &dimension, const Catalog &catalog,
                    const std::vector<Observation> &observations) {
  size_t caught = 0;
  for (const Observation &seen : observations)
    for (const std::string &violation : violations(derive(catalog, seen.contract), seen))
      caught += violation.find("under " + dimension) != std::string::npos;
  return caught;
}

// Positive control of every rule: the reference, which knows nothing of the rules, changes its
// bits. Negative control of this test: rules that forget a dimension contradict what was seen.
TEST(Derivation, S1_S2_S3_S4_S5_S6_S7_S8_EachWordThatBreaksIsSeenToBreakAndNothingElse) {
  const WordRuns runs = runWords();
  for (const Observation &seen : runs.observations)
    expectNoViolation(seen);
  const std::set<Claim> claims = claimsOf(Shared::get().catalog);
  ASSERT_FALSE(claims.empty());
  for (const Claim &claim : claims) {
    if (runs.seen.contains(claim))
      continue;
    // What the reference cannot run it refuses, and says of which word.
    const auto &[list, word, dimension] = claim;
    const auto refusal = runs.refusals.find({list, word});
    ASSERT_NE(refusal, runs.refusals.end()) << textOf(claim) << ", but no contract shows it";
    EXPECT_NE(refusal->second.find("'" + word + "'"), std::string::npos) << refusal->second;
    std::cout << "not run by the reference: " << textOf(claim) << ": " << refusal->second << "\n";
  }
  std::cout << runs.seen.size() << " of " << claims.size()
            << " rules were seen to break what they say\n";
  for (const std::string &dimension : Shared::get().catalog.invariance().dimensionNames()) {
    Tree wrong;
    wrong.forget(dimension);
    const Catalog catalog = wrong.load();
    ASSERT_LT(claimsOf(catalog).size(), claims.size()) << dimension;
    EXPECT_GT(violationsOf(dimension, catalog, runs.observations), 0u) << dimension;
  }
}

TEST(Derivation, S1_S2_S3_S4_S5_S6_S7_S8_RandomContractsChangeOnlyWhereItSaysSo) {
  constexpr Fill fills[] = {Fill::plain, Fill::tiny, Fill::special, Fill::cancelling, Fill::spread};
  constexpr int kOfFamily = 8, kTries = 200;
  const Shared &shared = Shared::get();
  Random random(20);
  int run = 0, refused = 0, open = 0;
  for (const auto &[family, rules] : shared.vocabulary["families"].items()) {
    if (rules.contains("parts")) // of contracts that are drawn themselves
      continue;
    int ofFamily = 0;
    for (int tries = 0; ofFamily < kOfFamily && tries < kTries; ++tries) {
      const DrawnContract drawn = drawContract(family, shared.vocabulary, random);
      const Fill fill = fills[random.below(5)];
      const uint64_t seed = random.bits();
      try {
        reference::readContract(drawn.json, shared.vocabulary, Data::get().functions);
      } catch (const ReferenceError &) { // words that do not go together
        ++refused;
        continue;
      }
      // What can be read can be evaluated.
      const Observation seen = observe(drawn.json, drawn.changes, {fill}, seed);
      expectNoViolation(seen);
      ++ofFamily;
      open += !seen.changes.empty();
    }
    EXPECT_EQ(ofFamily, kOfFamily) << family;
    run += ofFamily;
  }
  std::cout << run << " contracts ran, " << open << " of them changed somewhere, " << refused
            << " were no contract\n";
  EXPECT_GE(open, 5);
}

// Every registered contract, with partitions that a short history crosses.
TEST(Derivation, S1_S2_S3_S4_S5_S6_S7_S8_RegisteredContractsChangeOnlyWhereItSaysSo) {
  for (const auto &[id, registered] : Data::get().contracts) {
    nlohmann::json contract = registered;
    shrinkPartition(contract);
    expectNoViolation(observe(contract, id, {Fill::plain}, 3));
  }
}

// C5: a rule that holds from a threshold on: one below it nothing changes, at it and above it every
// row does.
TEST(Derivation, C5_S1_AConditionIsSeenFromItsThresholdOnAndNotBelow) {
  int conditions = 0;
  for (const auto &[id, registered] : Data::get().contracts)
    for (const FieldInvariance &field : derive(Shared::get().catalog, registered).fields) {
      if (field.breaks.empty() || !field.from)
        continue;
      ASSERT_EQ(field.variable, "kv_len") << id;
      ++conditions;
      const auto problem = historyOf(registered, Shared::get().vocabulary, *field.from - 2, 3,
                                     Fill::plain, 5); // from - 1, from, from + 1
      for (const std::string &dimension : field.breaks) {
        std::vector<Comparison> comparisons = comparisonsOf(*problem);
        for (Comparison &comparison : comparisons)
          std::erase_if(comparison.others,
                        [&](const Way &way) { return way.dimension != dimension; });
        std::erase_if(comparisons, [](const Comparison &c) { return c.others.empty(); });
        std::set<int64_t> changed;
        for (const Change &change : changesOf(*problem, comparisons))
          changed.insert(change.kvLength);
        EXPECT_EQ(changed, (std::set<int64_t>{*field.from, *field.from + 1})) << id;
      }
    }
  if (conditions == 0)
    GTEST_SKIP() << "no registered contract has a condition";
}

class Controls : public testing::TestWithParam<nlohmann::json> {};

nlohmann::json controls() {
  return nlohmann::json::parse(
      readFile(WRIT_SOURCE_DIR "/tests/data/invariance/controls.json"))["controls"];
}

/// Changes in the dimension of the control, over values that any word shows itself on.
size_t changesIn(const std::string &dimension, const nlohmann::json &contract) {
  size_t count = 0;
  for (const Change &change :
       observe(contract, contract["id"], {Fill::plain, Fill::tiny}, 6).changes)
    count += change.dimension == dimension;
  return count;
}

// The controls of docs/invariance.md: a contract that derives the dimension and does not change,
// and the same with a word that breaks it, and does.
TEST_P(Controls, S1_S2_S3_S4_S5_S6_S7_S8_TheContractHoldsAndItsAlteredCopyBreaks) {
  const std::string dimension = GetParam()["dimension"];
  const nlohmann::json &negative = GetParam()["negative"];
  nlohmann::json contract = Data::get().contracts.at(negative["contract"]);
  shrinkPartition(contract);
  EXPECT_TRUE(derive(Shared::get().catalog, contract).holds(dimension));
  EXPECT_EQ(changesIn(dimension, contract), 0u);
  setField(contract, negative["field"], negative["word"]);
  EXPECT_FALSE(derive(Shared::get().catalog, contract).holds(dimension));
  EXPECT_GT(changesIn(dimension, contract), 0u);
}

INSTANTIATE_TEST_SUITE_P(, Controls, testing::ValuesIn(controls()), [](const auto &info) {
  return info.param["dimension"].template get<std::string>();
});

// ... and a rule that blames a word which fixes everything is a claim that nobody sees.
TEST(Derivation, S1_S2_S3_S4_S5_S6_S7_S8_ARuleThatBlamesANeutralWordIsCaught) {
  Tree wrong;
  wrong.edit(kInvariance, [](EditedTree::Value &json) {
    EditedTree::Value &rules = json["words"]["gate_product"];
    EditedTree::Value &neutral = rules["neutral"];
    neutral.erase(std::find(neutral.begin(), neutral.end(), "fp32_mul"));
    rules["breaks"]["fp32_mul"] = {{"dimensions", {"threads"}}, {"because", "it is said so"}};
  });
  wrong.edit(kVocabulary, [](EditedTree::Value &json) {
    json["words"]["gate_product"]["fp32_mul"]["portable"] = false;
    json["words"]["gate_product"]["fp32_mul"]["varies_with"] = {"threads"};
  });
  ASSERT_TRUE(claimsOf(wrong.load()).contains({"gate_product", "fp32_mul", "threads"}));
  WordRuns runs;
  runs.run("gate_product", "fp32_mul", {"threads"});
  EXPECT_FALSE(runs.observations.empty());
  EXPECT_FALSE(runs.seen.contains({"gate_product", "fp32_mul", "threads"}));
}

// The words' own note of what they vary with is the rule's, word for word.
TEST(Derivation, S1_S2_S3_S4_S5_S6_S7_S8_TheVocabularySaysTheSameAsTheRules) {
  std::set<Claim> said;
  for (const auto &[list, words] : Data::get().vocabulary["words"].items())
    for (const auto &[word, entry] : words.items())
      for (const std::string dimension : entry.value("varies_with", nlohmann::json::array()))
        said.insert({list, word, dimension});
  EXPECT_EQ(said, claimsOf(Shared::get().catalog));
}

} // namespace
} // namespace writ::test
