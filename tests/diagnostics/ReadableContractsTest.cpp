// A contract whose words are all of the vocabulary, and that the reference cannot evaluate, is
// refused at the field that is wrong.
#include "tests/diagnostics/EditedTree.h"

using writ::test::EditedTree;

namespace {

/// One edit of a registered contract, and what is said of it.
struct Fault {
  std::string family, contract;
  std::string from, to; ///< the first occurrence in its file
  std::string place;    ///< what stands where the diagnostic points to
  std::string text;
};

std::string saidOf(const Fault &fault) {
  EditedTree tree;
  const std::string file = "contracts/" + fault.family + "/" + fault.contract + ".json";
  tree.replace(file, fault.from, fault.to);
  std::string said = tree.fault();
  const std::string expected = file + ":" + tree.position(file, fault.place) +
                               ": error: contract '" + fault.contract +
                               "' cannot be evaluated: " + fault.text + " [E301]\n";
  EXPECT_EQ(said, expected);
  return said;
}

const std::string kTiles = "attention_f16_kv_tiles32_chunks256_v0";

TEST(ReadableContracts, C2_E301_AWordOfTheListThatTheFieldDoesNotTake) {
  saidOf({"attention", kTiles, "\"value_accumulator\": \"fp32\"", "\"value_accumulator\": \"fp16\"",
          "\"fp16\",\n  \"partial_storage\"",
          "field 'value_accumulator' is 'fp16'; the reference knows 'fp32', "
          "'fp16_rounded_each_update'"});
  saidOf({"attention", kTiles, "\"value_accumulator\": \"fp32\"",
          "\"value_accumulator\": \"integer_codes\"", "\"integer_codes\"",
          "field 'value_accumulator' is 'integer_codes'; the reference knows 'fp32', "
          "'fp16_rounded_each_update'"});
  saidOf({"rms_norm", "rms_norm_f32_lanes64_v0", "\"compute\": \"fp32\"", "\"compute\": \"fp16\"",
          "\"fp16\"", "field 'compute' is 'fp16'; the reference knows 'fp32'"});
}

TEST(ReadableContracts, C2_E301_AnExceptionalValueThatTheArithmeticDoesNotGive) {
  saidOf({"attention", kTiles, "\"nan\": \"propagates\"", "\"nan\": \"rejected\"", "\"rejected\"",
          "field 'exceptional.nan' is 'rejected'; the reference knows 'propagates'"});
  saidOf({"sample", "sample_philox_v0", "\"nan\": \"rejected\"", "\"nan\": \"propagates\"",
          "\"propagates\"",
          "field 'exceptional.nan' is 'propagates'; the reference knows 'rejected'"});
}

TEST(ReadableContracts, C2_E301_ChunksAndTilesThatDoNotFit) {
  saidOf({"attention", kTiles, "\"chunk\": 256", "\"chunk\": 100", "100",
          "field 'partition.chunk' is 100, no multiple of 'partition.tile', which is 32"});
  saidOf({"attention", kTiles, "\"tile\": 32", "\"tile\": 30", "256 }",
          "field 'partition.chunk' is 256, no multiple of 'partition.tile', which is 30"});
  saidOf({"attention", "attention_f16_kv_two_pass_ggml_v0", "\"tile\": 8", "\"tile\": 16", "16 }",
          "field 'partition.tile' is 16, but 'tile_sum' has places for 8 terms"});
  saidOf({"quantize_activation", "quantize_activation_i8_b32_v0", "\"block\": 32", "\"block\": 64",
          "64", "field 'block' is 64, but codes of 'i8_b32_sf32' have blocks of 32 elements"});
  saidOf({"quantize_activation", "quantize_activation_i8_b32_v0", "\"code_limit\": 127",
          "\"code_limit\": 200", "200", "field 'code_limit' is 200, but a code has 8 bits"});
}

TEST(ReadableContracts, C2_E301_AReductionOfSomethingElse) {
  saidOf({"rms_norm", "rms_norm_f32_lanes64_v0", "\"sum_f32_fma_lanes64_tree\"",
          "\"sum_f32_add_ascending\"", "\"sum_f32_add_ascending\"",
          "field 'sum_of_squares' is 'sum_f32_add_ascending', a reduction that does not sum "
          "products in binary32, as is done here"});
  saidOf({"log_probability", "log_probability_f32_v0", "\"sum_f32_add_lanes64_tree\"",
          "\"sum_f32_fma_lanes64_tree\"", "\"sum_f32_fma_lanes64_tree\"",
          "field 'reduction' is 'sum_f32_fma_lanes64_tree', a reduction that does not sum single "
          "terms of any number, as is done here"});
}

TEST(ReadableContracts, C2_E301_StoragesThatTheArithmeticCannotRead) {
  saidOf({"residual", "residual_f32_v0", "\"a\": { \"storage\": \"f32\" }",
          "\"a\": { \"storage\": \"q4_0\" }", "\"q4_0\"",
          "operand 'a' has storage 'q4_0'; the reference knows 'f32', 'f16', 'bf16'"});
  saidOf({"linear", "linear_q4_0_i8_b32_v0", "\"storage\": \"i8_b32_sf32\"",
          "\"storage\": \"i8_b256_sf32\"", "\"i8_b256_sf32\"",
          "codes of 'i8_b256_sf32' have blocks of 256 elements, and the weight's 'q4_0' of 32"});
  saidOf({"embedding", "embedding_q4_1_v0", "\"decode\": \"fp32_fma_scale_code_minimum\"",
          "\"decode\": \"exact\"", "\"exact\"",
          "field 'decode' is 'exact', which is no way to read a weight of 'q4_1'"});
}

TEST(ReadableContracts, C2_E301_AFunctionOfOtherNumbers) {
  saidOf({"gate", "silu_gate_f32_v0", "\"function\": \"silu_f32_v0\"",
          "\"function\": \"sincos_f64_v0\"", "\"sincos_f64_v0\"",
          "field 'function' is 'sincos_f64_v0', which is no function from binary32 to binary32"});
}

TEST(ReadableContracts, F8_E301_ABoundThatCannotBeRead) {
  const std::string formula = "\"formula\": \"u * abs_exact\"";
  saidOf({"residual", "residual_f32_v0", formula, "\"formula\": \"(((\"", "\"(((\"",
          "bound '(((', column 4: expected a number, a variable or '('"});
  saidOf({"residual", "residual_f32_v0", formula, "\"formula\": \"gamma(nothing)\"",
          "\"gamma(nothing)\"",
          "bound 'gamma(nothing)', column 7: 'nothing' is no declared variable"});
  saidOf({"residual", "residual_f32_v0", formula, "\"formula\": \"u * abs_exact * root(2)\"",
          "\"u * abs_exact * root(2)\"",
          "bound 'u * abs_exact * root(2)', column 17: 'root' is no function of bounds of 1 "
          "argument"});
}

TEST(ReadableContracts, F8_E301_AVariableThatTheBoundDoesNotUse) {
  // `abs` is a part of the name that the formula has, and the word gamma excuses nothing but u.
  saidOf({"residual", "residual_f32_v0", "\"variables\": {",
          "\"variables\": { \"abs\": \"of something\",", "\"of something\"",
          "variable 'abs' of the bound is not in its formula"});
  saidOf({"rope", "rope_interleaved_f32_v0", "\"variables\": {",
          "\"variables\": { \"keys\": \"of something\",", "\"of something\"",
          "variable 'keys' of the bound is not in its formula"});
}

// Each contract has its own diagnostic: one run shows all.
TEST(ReadableContracts, C2_E301_EachContractIsNamed) {
  EditedTree tree;
  for (const char *file :
       {"contracts/residual/residual_f32_v0.json", "contracts/residual/residual_f16_v0.json"})
    tree.replace(file, "\"compute\": \"fp32\"", "\"compute\": \"fp64\"");
  const std::string said = tree.fault();
  for (const char *contract : {"residual_f32_v0", "residual_f16_v0"})
    EXPECT_NE(said.find("contract '" + std::string(contract) +
                        "' cannot be evaluated: field 'compute' is 'fp64'; the reference knows "
                        "'fp32' [E301]"),
              std::string::npos)
        << said;
}

} // namespace
