// The catalog refuses data that cannot be resolved by, before any circuit is compiled. Each test
// breaks one file of a copy and pins what is said, and where.
#include "tests/diagnostics/DataTree.h"

using writ::KnownFunctions;
using writ::test::DataTree;

namespace {

const char *const linearMap = "kernel_maps/linear/linear_q4_1_i8_b32.json";

std::string firstLine(const std::string &text) {
  return text.substr(0, text.find('\n'));
}

TEST(Catalog, C1_TheProjectsOwnDataLoads) {
  EXPECT_EQ(DataTree().fault(), "");
}

TEST(Catalog, C1_UnknownFieldOfAMapNamesItsPlaceAndTheNearest) {
  DataTree tree;
  tree.replace(linearMap, "\"phases\"", "\"phase\"");
  EXPECT_NE(tree.fault().find(std::string(linearMap) + ":" + tree.position(linearMap, "\"phase\"") +
                              ": error: unknown field 'phase'"),
            std::string::npos)
      << tree.fault();
}

TEST(Catalog, C1_DuplicateKeyOfACircuitIsAnError) {
  DataTree tree;
  tree.replace("circuits/llama.json", "\"result\": \"logits\",",
               "\"result\": \"logits\",\n  \"result\": \"logits\",");
  EXPECT_NE(tree.fault().find("[E011]"), std::string::npos) << tree.fault();
}

TEST(Catalog, C2_LooseReductionNameIsRefusedWithTheNearestIds) {
  DataTree tree;
  const std::string file = "contracts/rms_norm/rms_norm_f32_lanes64_v0.json";
  tree.replace(file, "sum_f32_fma_lanes64_tree", "strict");
  const std::string text = tree.fault();
  EXPECT_EQ(firstLine(text), file + ":" + tree.position(file, "\"strict\"") +
                                 ": error: 'strict' is not a reduction id: an id names a complete "
                                 "semantic profile [E302]");
  EXPECT_NE(text.find("contracts/vocabulary.json:"), std::string::npos);
  EXPECT_NE(text.find("note: reduction ids are declared here"), std::string::npos);
}

TEST(Catalog, C2_UnknownWordOfAContractIsRefused) {
  DataTree tree;
  const std::string file = "contracts/gate/silu_gate_f32_v0.json";
  tree.replace(file, "\"product\": \"fp32_mul\"", "\"product\": \"fast\"");
  EXPECT_EQ(firstLine(tree.fault()), file + ":" + tree.position(file, "\"fast\"") +
                                         ": error: 'fast' is not a word of 'gate_product' [E301]");
}

TEST(Catalog, C2_ProfileNamingNoContractIsRefused) {
  DataTree tree;
  const std::string file = "contracts/profiles/portable.json";
  tree.replace(file, "\"silu_gate_f32_v0\"", "\"strict\"");
  EXPECT_EQ(firstLine(tree.fault()),
            file + ":" + tree.position(file, "\"strict\"") +
                ": error: 'strict' is not a contract id: an id names a complete semantic profile "
                "[E302]");
}

TEST(Catalog, C3_TwoMapsThatOverlapAreFoundWhenTheMapsAreLoaded) {
  DataTree tree;
  std::string copy = tree.read(linearMap);
  for (size_t at; (at = copy.find("linear_q4_1_i8_b32\"")) != std::string::npos;)
    copy.replace(at, 18, "linear_q4_1_second");
  for (size_t at; (at = copy.find("linear_q4_1_i8_b32_threaded")) != std::string::npos;)
    copy.replace(at, 27, "linear_q4_1_second_threaded");
  copy.replace(copy.find("\"k\": { \"min\": 32"), 16, "\"k\": { \"min\": 64");
  tree.write("kernel_maps/linear/linear_q4_1_second.json", copy);
  const std::string at = tree.position(linearMap, "\"linear_q4_1_i8_b32\"");
  EXPECT_EQ(
      tree.fault(),
      std::string(linearMap) + ":" + at +
          ": error: kernels 'linear_q4_1_i8_b32' and 'linear_q4_1_second' both provide 'linear' "
          "under one contract; exactly one must match [E102]\n" +
          linearMap + ":" + at +
          ": note: candidate accepts k in [32, ...) step 32, n in [1, ...), rows in [1, ...)\n"
          "kernel_maps/linear/linear_q4_1_second.json:" +
          at +
          ": note: candidate accepts k in [64, ...) step 32, n in [1, ...), rows in [1, ...)\n"
          "note: both accept k in [64, ...) step 32, n in [1, ...), rows in [1, ...); make the "
          "ranges disjoint\n");
}

TEST(Catalog, C3_DisjointMapsOfOneContractMayStandSideBySide) {
  DataTree tree;
  std::string copy = tree.read(linearMap);
  for (size_t at; (at = copy.find("linear_q4_1_i8_b32\"")) != std::string::npos;)
    copy.replace(at, 18, "linear_q4_1_second");
  for (size_t at; (at = copy.find("linear_q4_1_i8_b32_threaded")) != std::string::npos;)
    copy.replace(at, 27, "linear_q4_1_second_threaded");
  copy.replace(copy.find("\"k\": { \"min\": 32"), 16, "\"k\": { \"min\": 64");
  tree.write("kernel_maps/linear/linear_q4_1_second.json", copy);
  tree.replace(linearMap, "\"k\": { \"min\": 32,", "\"k\": { \"min\": 32, \"max\": 63,");
  EXPECT_EQ(tree.fault(), "");
}

TEST(Catalog, C8_TheThreeFunctionsOfAMapDiffer) {
  DataTree tree;
  tree.replace(linearMap, "\"contract_oracle\": \"reference_linear\"",
               "\"contract_oracle\": \"linear_q4_1_i8_b32\"");
  EXPECT_EQ(firstLine(tree.fault()),
            std::string(linearMap) + ":" + tree.position(linearMap, "{\n    \"contract_oracle\"") +
                ": error: functions are 'linear_q4_1_i8_b32', 'linear_q4_1_i8_b32' and "
                "'linear_q4_1_i8_b32_threaded'; evidence compares three different ones [E124]");
}

TEST(Catalog, C8_AMapWhoseFunctionDoesNotExistIsRefused) {
  DataTree tree;
  KnownFunctions functions;
  functions.contractOracle = [](std::string_view) { return true; };
  functions.provider = [](std::string_view id) { return id != "linear_q4_1_i8_b32"; };
  EXPECT_EQ(
      firstLine(tree.fault(functions)),
      std::string(linearMap) + ":" +
          tree.position(linearMap, "\"linear_q4_1_i8_b32\",\n    \"threaded\"") +
          ": error: function 'linear_q4_1_i8_b32' does not exist; 'linear_q4_1_i8_b32' provides "
          "'linear_q4_1_i8_b32' [E125]");
}

TEST(Catalog, AnIdIsItsFilesStem) {
  DataTree tree;
  tree.replace(linearMap, "\"id\": \"linear_q4_1_i8_b32\"", "\"id\": \"linear_q4_1\"");
  EXPECT_EQ(
      firstLine(tree.fault()),
      std::string(linearMap) + ":" + tree.position(linearMap, "\"linear_q4_1\"") +
          ": error: id 'linear_q4_1' stands in 'linear_q4_1_i8_b32.json'; an id is its file's "
          "stem [E120]");
}

} // namespace
