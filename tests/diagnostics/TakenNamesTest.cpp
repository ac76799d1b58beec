// What a word of the vocabulary takes is there exactly where the word is: in contracts, and in the
// ops of a circuit.
#include "tests/diagnostics/EditedTree.h"

using writ::test::EditedTree;
using writ::test::kVocabulary;
using Value = EditedTree::Value;

namespace {

const char *const kTiles = "contracts/attention/attention_f16_kv_tiles32_chunks256_v0.json";
const char *const kOneRange = "contracts/attention/fp32_online.json";
const char *const kSinks = "contracts/attention/attention_f16_kv_sinks_tiles32_chunks256_v0.json";

std::string at(const EditedTree &tree, const std::string &file, const std::string &text) {
  return file + ":" + tree.position(file, text);
}

TEST(TakenNames, C1_E301_AContractHasWhatItsWordsTake) {
  EditedTree tree;
  tree.replace(kTiles, "\"threshold\": 257, \"tile\": 32, \"chunk\": 256",
               "\"threshold\": 257, \"chunk\": 256");
  EXPECT_EQ(tree.fault(),
            at(tree, kTiles, "\"fp32_exp_of_maximum_difference\"") +
                ": error: contract 'attention_f16_kv_tiles32_chunks256_v0' has no field "
                "'partition.tile', which 'fp32_exp_of_maximum_difference' of 'rescale' takes "
                "[E301]\n");
}

TEST(TakenNames, C1_E301_AContractHasNothingThatNoWordTakes) {
  EditedTree tree;
  tree.replace(kOneRange, "\"kind\": \"none\"", "\"kind\": \"none\", \"chunk\": 256");
  EXPECT_EQ(tree.fault(), at(tree, kOneRange, "256") +
                              ": error: field 'partition.chunk' of contract 'fp32_online' is taken "
                              "by none of its words [E301]\n" +
                              at(tree, kVocabulary, "\"kv_chunks_fixed\"") +
                              ": note: it is taken by 'kv_chunks_fixed' of 'partition_kind'\n");
}

// A word field, not a number: the same rule.
TEST(TakenNames, C1_E301_AMergeWithoutPartialsIsRefused) {
  EditedTree tree;
  tree.replace(kOneRange, "\"sinks\": \"none\"",
               "\"partial_merge\": \"fp32_chunk_order\",\n  \"sinks\": \"none\"");
  EXPECT_EQ(tree.fault(),
            at(tree, kOneRange, "\"fp32_chunk_order\"") +
                ": error: field 'partial_merge' of contract 'fp32_online' is taken by none of its "
                "words [E301]\n" +
                at(tree, kVocabulary, "\"kv_chunks_fixed\"") +
                ": note: it is taken by 'kv_chunks_fixed' of 'partition_kind', "
                "'kv_chunks_by_workers' of 'partition_kind'\n");
}

TEST(TakenNames, C1_E301_AnOperandBelongsToItsWord) {
  EditedTree tree;
  tree.replace(kSinks, "    \"sinks\": { \"storage\": \"f32\" },\n", "");
  EXPECT_EQ(tree.fault(), at(tree, kSinks, "\"fp32_logit_after_keys\"") +
                              ": error: contract 'attention_f16_kv_sinks_tiles32_chunks256_v0' has "
                              "no operand 'sinks', which 'fp32_logit_after_keys' of 'sinks' takes "
                              "[E301]\n");
}

TEST(TakenNames, C2_E301_AWordTakesWhatAFamilyHas) {
  EditedTree tree;
  tree.replace(kVocabulary, "\"takes\": [\"soft_cap_function\"], \"numbers\": [\"soft_cap\"]",
               "\"takes\": [\"soft_cap_funktion\"], \"numbers\": [\"scale\"]");
  EXPECT_NE(tree.fault().find(
                at(tree, kVocabulary, "\"soft_cap_funktion\"") +
                ": error: word 'fp32_cap_times_tanh_of_quotient' of 'soft_cap' takes "
                "'soft_cap_funktion', which is no contract field of a family with such a word "
                "[E301]\n"),
            std::string::npos)
      << tree.fault();
  // A number that every op of the family has belongs to no word.
  EXPECT_NE(tree.fault().find("takes 'scale', which is no optional number of a family with such a "
                              "word [E301]\n"),
            std::string::npos)
      << tree.fault();
}

} // namespace
