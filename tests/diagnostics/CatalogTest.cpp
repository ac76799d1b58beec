// The catalog refuses data that cannot be resolved by, before any circuit is compiled. Each test
// breaks one file of a copy and pins what is said, and where.
#include "tests/diagnostics/DataTree.h"

#include <algorithm>

using writ::KnownFunctions;
using writ::test::DataTree;

namespace {

const char *const linearMap = "kernel_maps/linear/linear_q4_1_i8_b32.json";
const char *const gateMap = "kernel_maps/gate/silu_gate_f32.json";
const char *const gateContract = "contracts/gate/silu_gate_f32_v0.json";

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
  const auto at = [&](const char *text) {
    return std::string(linearMap) + ":" + tree.position(linearMap, text);
  };
  const std::string note = "note: build the tool and its runtime with the kernel's source\n";
  EXPECT_EQ(tree.fault(functions),
            at("\"linear_q4_1_i8_b32\",\n    \"threaded\"") +
                ": error: function 'linear_q4_1_i8_b32' does not exist in the runtime [E125]\n" +
                note + at("\"linear_q4_1_i8_b32_threaded\"") +
                ": error: function 'linear_q4_1_i8_b32_threaded' does not exist in the runtime "
                "[E125]\n" +
                note);
  tree.replace(linearMap, "\"linear_q4_1_i8_b32_threaded\"", "\"linear_threaded\"");
  EXPECT_EQ(tree.fault(), at("\"linear_threaded\"") +
                              ": error: function 'linear_threaded' does not exist; "
                              "'linear_q4_1_i8_b32' provides 'linear_q4_1_i8_b32_threaded' "
                              "[E125]\n");
}

TEST(Catalog, C8_AnOracleOfAnotherFamilyIsRefused) {
  DataTree tree;
  const char *map = "kernel_maps/residual/residual_f32.json";
  tree.replace(map, "\"reference_residual\"", "\"reference_gate\"");
  EXPECT_EQ(tree.fault(), std::string(map) + ":" + tree.position(map, "\"reference_gate\"") +
                              ": error: function 'reference_gate' does not evaluate 'residual'; "
                              "the reference's entry for it is 'reference_residual' [E125]\n");
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

TEST(Catalog, C1_E121_AFileLiesInTheFolderOfItsFamily) {
  DataTree maps;
  maps.write("kernel_maps/rope/linear_q4_1_i8_b32.json", maps.read(linearMap));
  std::filesystem::remove(maps.path(linearMap));
  EXPECT_EQ(firstLine(maps.fault()),
            "kernel_maps/rope/linear_q4_1_i8_b32.json:" +
                maps.position("kernel_maps/rope/linear_q4_1_i8_b32.json", "\"linear\"") +
                ": error: op 'linear' stands in the folder of 'rope' [E121]");
  DataTree contracts;
  const std::string moved = "contracts/rope/silu_gate_f32_v0.json";
  contracts.write(moved, contracts.read(gateContract));
  std::filesystem::remove(contracts.path(gateContract));
  EXPECT_EQ(firstLine(contracts.fault()),
            moved + ":" + contracts.position(moved, "\"gate\"") +
                ": error: family 'gate' stands in the folder of 'rope' [E121]");
}

TEST(Catalog, C1_E122_AMapUsesTheNamesOfItsFamily) {
  DataTree operands;
  operands.replace(gateMap, "\"up\": {", "\"upp\": {");
  EXPECT_EQ(operands.fault().substr(0, operands.fault().find(gateMap, 1)),
            std::string(gateMap) + ":" + operands.position(gateMap, "\"upp\"") +
                ": error: 'upp' is not an operand of 'gate' [E122]\nnote: nearest: 'up'\n");
  EXPECT_NE(operands.fault().find(std::string(gateMap) + ":" +
                                  operands.position(gateMap, "{\n    \"gate\"") +
                                  ": error: operand 'up' of 'gate' is missing [E122]\n"),
            std::string::npos)
      << operands.fault();
  DataTree dimensions;
  dimensions.replace(gateMap, "\"n\": { \"min\"", "\"columns\": { \"min\"");
  EXPECT_EQ(firstLine(dimensions.fault()),
            std::string(gateMap) + ":" + dimensions.position(gateMap, "\"columns\"") +
                ": error: 'columns' is not a dimension of 'gate' [E122]");
  DataTree attributes;
  attributes.replace(gateMap, "\"activation\": [\"silu\"]", "");
  EXPECT_EQ(firstLine(attributes.fault()),
            std::string(gateMap) +
                ":1:1: error: attribute 'activation' of 'gate' is missing; a map says which values "
                "it accepts [E122]");
}

TEST(Catalog, C1_E122_AProfileUsesTheNamesOfTheFamily) {
  const std::string file = "contracts/profiles/portable.json";
  DataTree fields;
  fields.replace(file, "\"match\": { \"activation\"", "\"match\": { \"function\"");
  EXPECT_EQ(firstLine(fields.fault()),
            file + ":" + fields.position(file, "\"function\"") +
                ": error: 'function' is not an operand or attribute of 'gate' [E122]");
  DataTree families;
  families.replace(file, "\"op\": \"gate\"", "\"op\": \"gated\"");
  EXPECT_EQ(families.fault(), file + ":" + families.position(file, "\"gated\"") +
                                  ": error: 'gated' is not an op family [E122]\n"
                                  "note: nearest: 'gate'\n");
}

TEST(Catalog, C1_E129_AProfileExtendsOneThatStandsAlone) {
  const std::string file = "contracts/profiles/f32.json";
  const std::string known = "note: profiles that can be extended: 'ggml', 'portable'\n";
  DataTree unknown;
  unknown.replace(file, "\"extends\": \"portable\"", "\"extends\": \"portably\"");
  EXPECT_EQ(unknown.fault(), file + ":" + unknown.position(file, "\"portably\"") +
                                 ": error: 'portably' is not a profile [E129]\n" + known);
  DataTree chain;
  chain.replace(file, "\"extends\": \"portable\"", "\"extends\": \"bf16\"");
  EXPECT_EQ(chain.fault(), file + ":" + chain.position(file, "\"bf16\"") +
                               ": error: profile 'bf16' extends another itself [E129]\n" + known);
}

TEST(Catalog, C3_AProfileTakesOverTheRulesThatItDoesNotHave) {
  DataTree tree;
  const writ::Catalog catalog = tree.load();
  const writ::Profile &base = catalog.profiles().at("portable"),
                      &own = catalog.profiles().at("f32");
  const auto contractIn = [](const writ::Profile &profile, const std::string &op,
                             const auto &match) {
    std::vector<std::string> found;
    for (const writ::ProfileRule &rule : profile.rules)
      if (rule.op == op && rule.match == match)
        found.push_back(rule.contract);
    return found;
  };
  for (const writ::ProfileRule &rule : base.rules)
    EXPECT_EQ(contractIn(own, rule.op, rule.match).size(),
              contractIn(base, rule.op, rule.match).size())
        << rule.contract;
  const std::map<std::string, std::string> q80{{"weight", "q8_0"}};
  EXPECT_EQ(contractIn(own, "linear", q80), std::vector<std::string>{"linear_q8_0_f32_v0"});
  EXPECT_EQ(contractIn(base, "linear", q80), std::vector<std::string>{"linear_q8_0_i8_b32_v0"});
  // What it takes over is part of what it is.
  DataTree other;
  other.replace("contracts/profiles/portable.json",
                "    { \"op\": \"soft_cap\", \"match\": {}, \"contract\": \"soft_cap_f32_v0\" },\n",
                "");
  EXPECT_NE(other.load().profiles().at("f32").digest, own.digest);
}

TEST(Catalog, C1_E123_AContractOfAnotherFamilyIsRefused) {
  DataTree maps;
  maps.replace(gateMap, "\"silu_gate_f32_v0\"", "\"residual_f32_v0\"");
  EXPECT_EQ(firstLine(maps.fault()),
            std::string(gateMap) + ":" + maps.position(gateMap, "\"residual_f32_v0\"") +
                ": error: contract 'residual_f32_v0' is of family 'residual', not 'gate' [E123]");
  DataTree profiles;
  const std::string file = "contracts/profiles/portable.json";
  profiles.replace(file, "\"residual_f32_v0\"", "\"silu_gate_f32_v0\"");
  profiles.replace(file, "\"op\": \"gate\"", "\"op\": \"residual\"");
  EXPECT_NE(profiles.fault().find("error: contract 'silu_gate_f32_v0' is of family 'gate', not "
                                  "'residual' [E123]\n"),
            std::string::npos)
      << profiles.fault();
}

TEST(Catalog, C8_E126_TheSplitOfAMapFitsItsArguments) {
  DataTree extents;
  extents.replace(gateMap, "\"extent\": [\"rows\"]", "\"extent\": [\"up\"]");
  EXPECT_EQ(extents.fault(), std::string(gateMap) + ":" + extents.position(gateMap, "\"up\"],") +
                                 ": error: extent 'up' is not an i64 argument of 'silu_gate_f32' "
                                 "[E126]\n");
  DataTree partitions;
  partitions.replace(gateMap, "\"partition\": \"row\"", "\"partition\": \"column\"");
  EXPECT_EQ(partitions.fault(),
            std::string(gateMap) + ":" + partitions.position(gateMap, "\"column\"") +
                ": error: partition 'column' is not one of the possible ones: 'serial', 'row' "
                "[E126]\n");
}

TEST(Catalog, F12_E206_TwoArgumentsOfOneName) {
  DataTree tree;
  const std::string two = "\"name\": \"gate\", \"type\"";
  tree.replace(gateMap, "\"name\": \"up\", \"type\"", two);
  const std::string text = tree.read(gateMap);
  const size_t second = text.rfind(two) + std::string("\"name\": ").size();
  const std::string line =
      std::to_string(std::count(text.begin(), text.begin() + second, '\n') + 1);
  const std::string column = std::to_string(second - text.rfind('\n', second));
  EXPECT_EQ(tree.fault(),
            std::string(gateMap) + ":" + line + ":" + column +
                ": error: two arguments of 'silu_gate_f32' are named 'gate' [E206]\n");
}

TEST(Catalog, C1_E122_AnAttributeThatMayBeAbsentHasADefault) {
  const std::string file = "contracts/vocabulary.json";
  DataTree tree;
  tree.replace(file, ", \"default\": true", "");
  EXPECT_EQ(
      firstLine(tree.fault()),
      file + ":" + tree.position(file, "[\"mask\", \"optional scaled\"]") +
          ": error: attribute 'scaled' of 'attention' is optional, but no word of 'scaled' is "
          "the default [E122]");
}

TEST(Catalog, C1_E122_ARuleNamesAWordOfAnOptionalAttribute) {
  const std::string file = "contracts/profiles/ggml.json";
  DataTree tree;
  tree.replace(file, "\"scaled\": \"queries\"", "\"scaled\": \"querys\"");
  EXPECT_EQ(tree.fault(), file + ":" + tree.position(file, "\"querys\"") +
                              ": error: 'querys' is not a word of 'scaled' [E122]\n"
                              "note: nearest: 'queries'\n");
}

TEST(Catalog, F12_E122_TheShapeOfAWeightIsOfItsFamily) {
  const std::string file = "contracts/vocabulary.json";
  DataTree shapes;
  shapes.replace(file, "weight[n,k]", "weight[n,depth]");
  EXPECT_EQ(firstLine(shapes.fault()),
            file + ":" + shapes.position(file, "\"weight[n,depth]\"") +
                ": error: 'depth' is not a static dimension of 'linear' [E122]");
  DataTree rows; // the number of rows is known only when the model runs
  rows.replace(file, "weight[n,k]", "weight[rows,k]");
  EXPECT_EQ(firstLine(rows.fault()), file + ":" + rows.position(file, "\"weight[rows,k]\"") +
                                         ": error: 'rows' is not a static dimension of 'linear' "
                                         "[E122]");
}

TEST(Catalog, F12_E017_AnIntegerThatNoDoubleHoldsIsRefusedAtItsPlace) {
  DataTree tree;
  tree.replace(gateMap, "\"grain\": 1", "\"grain\": 9007199254740993");
  EXPECT_EQ(tree.fault(), std::string(gateMap) + ":" + tree.position(gateMap, "9007199254740993") +
                              ": error: integer 9007199254740993 is beyond 2^53, which canonical "
                              "JSON (RFC 8785) cannot write [E017]\n");
}

// The least common multiple of the two steps has more than 64 bits.
TEST(Catalog, F12_StepsWithoutACommonMultipleDoNotOverlap) {
  DataTree tree;
  const std::string copy = "kernel_maps/gate/other_gate_f32.json";
  std::string text = tree.read(gateMap);
  for (size_t at; (at = text.find("silu_gate_f32\"")) != std::string::npos;)
    text.replace(at, 9, "other_gate");
  for (size_t at; (at = text.find("silu_gate_f32_threaded")) != std::string::npos;)
    text.replace(at, 9, "other_gate");
  tree.write(copy, text);
  EXPECT_NE(tree.fault().find("[E102]"), std::string::npos) << tree.fault();
  const std::string n = "\"n\": { \"min\": 1";
  tree.replace(gateMap, n, n + ", \"multiple_of\": 9007199254740991");
  tree.replace(copy, n, n + ", \"multiple_of\": 9007199254740992");
  EXPECT_EQ(tree.fault(), "");
}

} // namespace
