// A map that contradicts a contract which it claims to keep, in its own words: refused before any
// kernel runs. What no field says, evidence has to show (scripts/test-faults).
#include "tests/diagnostics/EditedTree.h"

using writ::test::EditedTree;

namespace {

const std::string kMap = "kernel_maps/attention/attention_f16_tiles32_chunks256.json";
const std::string kContractId = "attention_f16_kv_tiles32_chunks256_v0";
const std::string kContract = "contracts/attention/" + kContractId + ".json";
const std::string kGate = "kernel_maps/gate/silu_gate_f32.json";
const std::string kGateContract = "contracts/gate/silu_gate_f32_v0.json";

/// Position of the value behind `key`.
std::string valuePosition(const EditedTree &tree, const std::string &file, const std::string &key,
                          const std::string &value) {
  const std::string at = tree.position(file, key + value);
  const size_t colon = at.find(':');
  return at.substr(0, colon + 1) + std::to_string(std::stoi(at.substr(colon + 1)) + key.size());
}

TEST(MapClaims, C5_E303_AKernelSplitsOnlyWhereItsContractDeclaresIt) {
  EditedTree tree;
  tree.replace(kMap, "\"kv_len\": [257]", "\"kv_len\": [257, 4096]");
  EXPECT_EQ(tree.fault(), kMap + ":" + tree.position(kMap, "4096") +
                              ": error: kernel splits at kv_len 4096, but contract '" +
                              kContractId + "' declares thresholds [257] [E303]\n" + kContract +
                              ":" + valuePosition(tree, kContract, "\"threshold\": ", "257") +
                              ": note: thresholds declared here\n");
}

TEST(MapClaims, C5_E303_AThresholdThatMovedIsToldFromBothSides) {
  EditedTree tree;
  tree.replace(kMap, "\"kv_len\": [257]", "\"kv_len\": [513]");
  const std::string declared =
      kContract + ":" + valuePosition(tree, kContract, "\"threshold\": ", "257");
  EXPECT_EQ(tree.fault(), kMap + ":" + tree.position(kMap, "513") +
                              ": error: kernel splits at kv_len 513, but contract '" + kContractId +
                              "' declares thresholds [257] [E303]\n" + declared +
                              ": note: thresholds declared here\n" + kMap + ":" +
                              tree.position(kMap, "\"attention_f16_tiles32_chunks256\"") +
                              ": error: kernel does not say that it splits at kv_len 257, where "
                              "contract '" +
                              kContractId + "' changes its arithmetic [E303]\n" + declared +
                              ": note: threshold declared here\n"
                              "note: a kernel that splits there says \"thresholds\": { \"kv_len\": "
                              "[257] }\n");
}

TEST(MapClaims, C5_E303_AThresholdOfAVariableThatTheContractDoesNotHave) {
  EditedTree tree;
  tree.replace(kGate, "\"functions\"", "\"thresholds\": { \"rows\": [64] },\n  \"functions\"");
  EXPECT_EQ(tree.fault(), kGate + ":" + tree.position(kGate, "64] }") +
                              ": error: kernel splits at rows 64, but contract 'silu_gate_f32_v0' "
                              "declares no threshold of it [E303]\n" +
                              kGateContract + ":" +
                              valuePosition(tree, kGateContract, "\"id\": ", "\"") +
                              ": note: the contract stands here\n");
}

// FP32 keys and values where the contract has them rounded to binary16.
TEST(MapClaims, C8_E128_AKernelThatReadsAnotherStorage) {
  EditedTree tree;
  tree.replace(kMap, "\"kv\": { \"storage\": \"f16\" }", "\"kv\": { \"storage\": \"f32\" }");
  EXPECT_EQ(tree.fault(),
            kMap + ":" + valuePosition(tree, kMap, "\"kv\": { \"storage\": ", "\"f32\"") +
                ": error: operand 'kv' is 'f32' in kernel 'attention_f16_tiles32_chunks256', but "
                "'f16' in contract '" +
                kContractId + "', which it claims to keep [E128]\n" + kContract + ":" +
                valuePosition(tree, kContract, "\"kv\": { \"storage\": ", "\"f16\"") +
                ": note: the contract states it here\n");
}

TEST(MapClaims, C8_E128_AnAttributeThatTheContractDoesNotHave) {
  EditedTree tree;
  tree.replace(kGate, "\"activation\": [\"silu\"]", "\"activation\": [\"silu\", \"gelu_tanh\"]");
  EXPECT_EQ(tree.fault(), kGate + ":" + tree.position(kGate, "\"gelu_tanh\"") +
                              ": error: attribute 'activation' is 'gelu_tanh' in kernel "
                              "'silu_gate_f32', but 'silu' in contract 'silu_gate_f32_v0', which "
                              "it claims to keep [E128]\n" +
                              kGateContract + ":" +
                              valuePosition(tree, kGateContract, "\"activation\": ", "\"silu\"") +
                              ": note: the contract states it here\n");
}

// Each contract of a map is looked at, not only the first.
TEST(MapClaims, C8_E128_EveryContractOfAMapIsHeldAgainstIt) {
  EditedTree tree;
  tree.edit(kMap, [](EditedTree::Value &json) {
    json["contracts"].push_back("attention_f16_kv_window_tiles32_chunks256_v0");
  });
  EXPECT_NE(tree.fault().find("error: attribute 'mask' is 'causal' in kernel "
                              "'attention_f16_tiles32_chunks256', but 'sliding_window' in contract "
                              "'attention_f16_kv_window_tiles32_chunks256_v0'"),
            std::string::npos)
      << tree.fault();
}

} // namespace
