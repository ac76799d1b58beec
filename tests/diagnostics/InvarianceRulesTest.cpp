// The rules of invariance cover the vocabulary and do not contradict it. Each test breaks one file
// of a copy and pins what is said, and where.
#include "tests/diagnostics/EditedTree.h"

using writ::test::EditedTree;
using writ::test::kInvariance;
using writ::test::kVocabulary;
using Value = EditedTree::Value;

namespace {

const char *const kAttention = "contracts/attention/attention_f16_kv_tiles32_chunks256_v0.json";

std::string at(const EditedTree &tree, const std::string &file, const std::string &text) {
  return file + ":" + tree.position(file, text);
}

/// Where the last character of `text` stands, which is on one line: "\"key\": {" is the object's.
std::string endOf(const EditedTree &tree, const std::string &file, const std::string &text) {
  const std::string begin = tree.position(file, text);
  const size_t colon = begin.find(':');
  return file + ":" + begin.substr(0, colon + 1) +
         std::to_string(std::stoul(begin.substr(colon + 1)) + text.size() - 1);
}

TEST(InvarianceRules, C2_E304_AWordHasARule) {
  EditedTree tree;
  tree.addWord("rescale", "fp32_other", {"batch"});
  EXPECT_EQ(tree.fault(),
            at(tree, kVocabulary, "\"fp32_other\"") +
                ": error: word 'fp32_other' of 'rescale' has no rule of invariance: it is neutral, "
                "or it says what it breaks [E304]\n" +
                endOf(tree, kInvariance, "\"rescale\": {") +
                ": note: rules of 'rescale' are declared here\n");
  tree.addRule("rescale", "fp32_other", {"batch"});
  EXPECT_EQ(tree.fault(), "");
}

TEST(InvarianceRules, C2_E304_AListHasRules) {
  EditedTree tree;
  tree.edit(kVocabulary, [](Value &json) { json["words"]["colour"]["red"]["meaning"] = "a word"; });
  EXPECT_EQ(tree.fault(), at(tree, kVocabulary, "\"colour\"") +
                              ": error: list 'colour' has no rules of invariance: what its words "
                              "let decide is unknown [E304]\n" +
                              endOf(tree, kInvariance, "\"words\": {") +
                              ": note: rules are declared here\n");
}

TEST(InvarianceRules, C2_E304_ANumberHasARule) {
  EditedTree tree;
  tree.edit(kInvariance, [](Value &json) { json["numbers"].erase("hex_float"); });
  const std::string said = ": error: 'hex_float' is neither a list of words nor a number with a "
                           "rule of invariance [E304]\n" +
                           endOf(tree, kInvariance, "\"numbers\": {") +
                           ": note: numbers are declared here\n";
  // Once for each family that has such a number.
  const std::string text = tree.fault(), first = at(tree, kVocabulary, "\"hex_float\"") + said;
  EXPECT_EQ(text.substr(0, first.size()), first);
  EXPECT_TRUE(text.ends_with(said)) << text;
}

TEST(InvarianceRules, C2_E304_AReductionIsAllItsParts) {
  const std::string note = ": note: the parts of 'reduction' are declared here\n";
  EditedTree missing;
  missing.edit(kVocabulary, [](Value &json) {
    json["words"]["reduction"]["sum_f32_add_ascending"].erase("merge");
  });
  EXPECT_EQ(missing.fault(),
            endOf(missing, kVocabulary, "\"sum_f32_add_ascending\": {") +
                ": error: word 'sum_f32_add_ascending' of 'reduction' has no 'merge': what it lets "
                "decide is unknown [E304]\n" +
                at(missing, kInvariance, "\"merge\"\n") + note);
  EditedTree unknown;
  unknown.edit(kVocabulary, [](Value &json) {
    json["words"]["reduction"]["sum_f32_add_ascending"]["order"] = "sorted";
  });
  EXPECT_EQ(unknown.fault(),
            at(unknown, kVocabulary, "\"sorted\"") +
                ": error: word 'sum_f32_add_ascending' of 'reduction' has order 'sorted' without a "
                "rule of invariance: what it lets decide is unknown [E304]\n" +
                at(unknown, kInvariance, "\"reduction_order\",\n") + note);
  // A parameter that no rule reads: the schema knows it, the derivation would not.
  EditedTree further;
  further.edit("contracts/schema/vocabulary.json", [](Value &json) {
    json["properties"]["words"]["additionalProperties"]["additionalProperties"]["properties"]
        ["split"] = {{"type", "string"}};
  });
  further.edit(kVocabulary, [](Value &json) {
    json["words"]["reduction"]["sum_f32_add_ascending"]["split"] = "by_rows";
  });
  EXPECT_EQ(further.fault(), at(further, kVocabulary, "\"split\"") +
                                 ": error: 'split' of word 'sum_f32_add_ascending' is no part with "
                                 "a rule of invariance [E304]\n" +
                                 endOf(further, kInvariance, "\"parts\": {") + note);
}

/// Where the fields of attention's contracts are declared.
std::string fields(const EditedTree &tree) {
  std::string text = tree.read(kVocabulary);
  text = text.substr(0, text.find("\"q_compute\""));
  const std::string before = text.substr(0, text.rfind('{'));
  const size_t line = std::count(before.begin(), before.end(), '\n');
  return std::string(kVocabulary) + ":" + std::to_string(line + 1) + ":" +
         std::to_string(before.size() - before.rfind('\n'));
}

TEST(InvarianceRules, C2_E304_AFieldOfAContractIsReadByTheDerivation) {
  EditedTree tree;
  tree.edit("contracts/schema/contract.json", [](Value &json) {
    json["definitions"]["attention"]["properties"]["split"] = {{"type", "string"}};
  });
  tree.replace(kAttention, "\"mask\"", "\"split\": \"by_rows\",\n  \"mask\"");
  EXPECT_EQ(tree.fault(),
            at(tree, kAttention, "\"split\"") +
                ": error: field 'split' of contract 'attention_f16_kv_tiles32_chunks256_v0' is not "
                "a contract field of family 'attention': what it lets decide is unknown [E304]\n" +
                fields(tree) + ": note: the family's fields are declared here\n");
}

TEST(InvarianceRules, C2_E304_AContractSaysEachFieldThatDecides) {
  EditedTree tree;
  tree.edit("contracts/schema/contract.json", [](Value &json) {
    Value &required = json["definitions"]["attention"]["required"];
    required.erase(std::find(required.begin(), required.end(), "unseen"));
  });
  tree.replace(kAttention, "  \"unseen\": \"skipped\",\n", "");
  EXPECT_EQ(tree.fault(),
            std::string(kAttention) +
                ":1:1: error: contract 'attention_f16_kv_tiles32_chunks256_v0' has no 'unseen': "
                "what it lets decide is unknown [E304]\n" +
                fields(tree) + ": note: the family's fields are declared here\n");
}

TEST(InvarianceRules, C2_E305_ARuleSpeaksOfTheVocabularysWords) {
  EditedTree words;
  words.replace(kInvariance, "\"fp16_rounded\",", "\"fp16_round\",");
  EXPECT_EQ(words.fault(),
            at(words, kInvariance, "\"fp16_round\"") +
                ": error: 'fp16_round' is not a word of 'precision' [E305]\n" +
                endOf(words, kVocabulary, "\"precision\": {") +
                ": note: words are declared here; nearest: 'fp16_rounded', 'bf16_rounded'\n");
  EditedTree lists;
  lists.edit(kInvariance, [](Value &json) { json["words"]["masks"] = json["words"]["mask"]; });
  EXPECT_EQ(lists.fault(), at(lists, kInvariance, "\"masks\"") +
                               ": error: 'masks' is not a list of the vocabulary [E305]\n" +
                               endOf(lists, kVocabulary, "\"words\": {") +
                               ": note: nearest: 'mask'\n");
  EditedTree parts;
  parts.replace(kInvariance, "\"merge\": \"merge\"", "\"merge\": \"merged\"");
  EXPECT_EQ(parts.fault(), at(parts, kInvariance, "\"merged\"") +
                               ": error: 'merged' is not a list of words without parts [E305]\n");
}

TEST(InvarianceRules, C2_E305_AListOfWordsIsNoNumber) {
  EditedTree tree;
  tree.replace(kInvariance, "\"hex_float\":", "\"partition_kind\": \"all alike\", \"hex_float\":");
  EXPECT_EQ(tree.fault(), at(tree, kInvariance, "\"partition_kind\": \"all") +
                              ": error: 'partition_kind' is a list of words, whose rules stand one "
                              "for each word [E305]\n");
}

TEST(InvarianceRules, C2_E305_ARuleBreaksDimensionsThatThereAre) {
  EditedTree tree;
  tree.replace(kInvariance, "\"dimensions\": [\"threads\"]", "\"dimensions\": [\"workers\"]");
  const std::string text = tree.fault();
  EXPECT_EQ(text, at(tree, kInvariance, "\"workers\"") +
                      ": error: 'workers' is not a dimension of invariance [E305]\n" +
                      endOf(tree, kInvariance, "\"dimensions\": {") +
                      ": note: dimensions are declared here: 'run', 'threads', 'batch', "
                      "'chunking', 'isa', 'device', 'compiler'\n");
}

TEST(InvarianceRules, C2_E305_AConditionIsReadFromANumberOfTheSameContract) {
  EditedTree tree;
  tree.replace(kInvariance, "\"partition.threshold\"", "\"partition.treshold\"");
  EXPECT_EQ(tree.fault(), at(tree, kInvariance, "\"partition.treshold\"") +
                              ": error: no family has a number 'partition.treshold' beside a word "
                              "of 'partition_kind' [E305]\n");
}

TEST(InvarianceRules, C2_E305_AWordIsNeutralOrBreaksSomething) {
  EditedTree tree;
  tree.replace(kInvariance, "\"neutral\": [\"kept\",", "\"neutral\": [\"kept\", \"flushed\",");
  EXPECT_EQ(tree.fault(), at(tree, kInvariance, "\"flushed\": {") +
                              ": error: 'flushed' of 'subnormal' is neutral, and breaks something "
                              "[E305]\n");
}

// Two files speak of portable words; whoever softens one alone is stopped.
TEST(InvarianceRules, C2_E305_RulesAndVocabularyTellOneStory) {
  EditedTree softened;
  softened.edit(kInvariance, [](Value &json) {
    Value &list = json["words"]["partition_kind"];
    list["neutral"].push_back("kv_chunks_by_workers");
    list.erase("breaks");
  });
  const std::string note = ": note: rules of 'partition_kind' are declared here\n";
  EXPECT_EQ(softened.fault(),
            at(softened, kVocabulary, "\"threads\"]") +
                ": error: word 'kv_chunks_by_workers' of 'partition_kind' varies with 'threads', "
                "which its rule does not break [E305]\n" +
                endOf(softened, kInvariance, "\"partition_kind\": {") + note);
  EditedTree silent;
  silent.replace(kVocabulary, ", \"portable\": false, \"varies_with\": [\"threads\"]", "");
  EXPECT_EQ(silent.fault(),
            at(silent, kVocabulary, "\"kv_chunks_by_workers\"") +
                ": error: word 'kv_chunks_by_workers' of 'partition_kind' breaks 'threads', but is "
                "not marked \"portable\": false [E305]\n" +
                endOf(silent, kInvariance, "\"partition_kind\": {") + note);
}

TEST(InvarianceRules, C1_AnUnknownFieldNamesItsPlaceAndTheNearest) {
  EditedTree tree;
  tree.replace(kInvariance, "\"because\": \"there is one", "\"becaus\": \"there is one");
  EXPECT_NE(
      tree.fault().find(at(tree, kInvariance, "\"becaus\":") + ": error: unknown field 'becaus'"),
      std::string::npos)
      << tree.fault();
}

} // namespace
