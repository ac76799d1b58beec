// A fusion is made of families, its contract of contracts, and its providers resolve like others.
#include "compiler/Resolve/Invariance.h"
#include "compiler/Resolve/Resolver.h"
#include "tests/diagnostics/EditedTree.h"

using namespace writ;
using writ::test::EditedTree;
using writ::test::kVocabulary;

namespace {

const std::string profile = "contracts/profiles/portable.json";
const std::string map = "kernel_maps/gate_quantize/silu_gate_f32_quantize_i8_b32.json";
const std::string composed = "silu_gate_f32_v0+quantize_activation_i8_b32_v0";

std::string firstLine(const std::string &text) {
  return text.substr(0, text.find('\n'));
}

TEST(Fusion, C1_E122_AProfileNamesFusionsOfTheVocabulary) {
  EditedTree unknown;
  unknown.replace(profile, "\"gate_quantize\"", "\"gate_quantise\"");
  EXPECT_EQ(unknown.fault(), profile + ":" + unknown.position(profile, "\"gate_quantise\"") +
                                 ": error: 'gate_quantise' is not a fusion [E122]\n"
                                 "note: nearest: 'gate_quantize'\n");
  EditedTree plain; // a family of its own is none
  plain.replace(profile, "\"gate_quantize\"", "\"gate\"");
  EXPECT_EQ(firstLine(plain.fault()), profile + ":" + plain.position(profile, "\"gate\"") +
                                          ": error: 'gate' is not a fusion [E122]");
  EditedTree twice;
  twice.replace(profile, "\"gate_quantize\"", "\"rms_norm_quantize\"");
  EXPECT_NE(twice.fault().find("[E015]"), std::string::npos) << twice.fault();
}

TEST(Fusion, C8_AContractIsThatOfTheParts) {
  EditedTree tree;
  const Catalog catalog = tree.load();
  const Contract &contract = catalog.contracts().at(composed);
  EXPECT_EQ(contract.family, "gate_quantize");
  EXPECT_EQ(contract.parts,
            (std::vector<std::string>{"silu_gate_f32_v0", "quantize_activation_i8_b32_v0"}));
  EXPECT_EQ(contract.storage, (std::map<std::string, std::string>{
                                  {"gate", "f32"}, {"out", "i8_b32_sf32"}, {"up", "f32"}}));
  const auto fields = [&](const std::string &id) {
    return deriveInvariance(catalog, catalog.contracts().at(id)).fields.size();
  };
  EXPECT_EQ(fields(composed), fields(contract.parts[0]) + fields(contract.parts[1]));
}

// A changed part is another contract, so that evidence of the old one is stale.
TEST(Fusion, C7_TheDigestBindsTheParts) {
  EditedTree tree, changed;
  changed.replace("contracts/gate/silu_gate_f32_v0.json", "\"formula\": \"", "\"formula\": \"2 * ");
  EXPECT_NE(tree.load().contracts().at(composed).digest,
            changed.load().contracts().at(composed).digest);
}

TEST(Fusion, C3_E123_AMapNamesAContractForEachPart) {
  const auto fault = [&](const std::string &id) {
    EditedTree tree;
    tree.replace(map, composed, id);
    const std::string at = map + ":" + tree.position(map, "\"" + id + "\"") + ": error: ";
    std::string text = firstLine(tree.fault());
    EXPECT_EQ(text.substr(0, at.size()), at);
    return text.substr(std::min(at.size(), text.size()));
  };
  EXPECT_EQ(
      fault("silu_gate_f32_v0"),
      "'silu_gate_f32_v0' names 1 contracts, but fusion 'gate_quantize' has 2 parts; they are "
      "joined by '+', in order [E123]");
  EXPECT_EQ(fault("quantize_activation_i8_b32_v0+silu_gate_f32_v0"),
            "contract 'quantize_activation_i8_b32_v0' is of family 'quantize_activation', but part "
            "1 of 'gate_quantize' is 'gate' [E123]");
  EXPECT_EQ(fault("silu_gate_f16_v0+quantize_activation_i8_b32_v0"),
            "contract 'quantize_activation_i8_b32_v0' reads 'gated' as f32, but the part before "
            "makes f16 [E123]");
  EXPECT_EQ(fault("silu_gate_v9+quantize_activation_i8_b32_v0"),
            "'silu_gate_v9' is not a contract id: an id names a complete semantic profile [E302]");
}

TEST(Fusion, C8_E128_AMapDoesNotContradictTheParts) {
  EditedTree tree;
  tree.replace(map, "\"out\": { \"storage\": \"i8_b32_sf32\" }",
               "\"out\": { \"storage\": \"i8_b256_sf32\" }");
  EXPECT_EQ(tree.fault(), map + ":" + tree.position(map, "\"i8_b256_sf32\"") +
                              ": error: operand 'out' is 'i8_b256_sf32' in kernel "
                              "'silu_gate_f32_quantize_i8_b32', but 'i8_b32_sf32' in contract '" +
                              composed + "', which it claims to keep [E128]\n" + map + ":" +
                              tree.position(map, "\"" + composed + "\"") +
                              ": note: the contract states it here\n");
}

TEST(Fusion, C8_E125_TheReferenceEvaluatesThePartsInOrder) {
  EditedTree tree;
  tree.replace(map, "\"reference_fused\"", "\"reference_gate\"");
  EXPECT_EQ(firstLine(tree.fault()),
            map + ":" + tree.position(map, "\"reference_gate\"") +
                ": error: function 'reference_gate' does not evaluate 'gate_quantize'; the "
                "reference's entry for it is 'reference_fused' [E125]");
}

TEST(Fusion, C1_E122_TheNamesOfAFusionAreThoseOfItsParts) {
  const auto fault = [](auto change) {
    EditedTree tree;
    tree.edit(kVocabulary,
              [&](EditedTree::Value &json) { change(json["families"]["gate_quantize"]); });
    const std::string text = firstLine(tree.fault());
    const size_t at = text.find(": error: ");
    EXPECT_EQ(text.substr(0, std::string(kVocabulary).size()), kVocabulary) << text;
    return at == std::string::npos ? text : text.substr(at + 9);
  };
  using Value = EditedTree::Value;
  EXPECT_EQ(fault([](Value &fusion) { fusion["parts"][0]["family"] = "gated"; }),
            "'gated' is no op family that a fusion can have as a part [E122]");
  EXPECT_EQ(fault([](Value &fusion) { fusion["parts"][0]["family"] = "rms_norm_quantize"; }),
            "'rms_norm_quantize' is no op family that a fusion can have as a part [E122]");
  EXPECT_EQ(fault([](Value &fusion) { fusion["operands"].erase("up"); }),
            "operand 'up' of a part of 'gate_quantize' is missing [E122]");
  EXPECT_EQ(fault([](Value &fusion) { fusion["operands"]["bias"] = "input"; }),
            "'bias' is no such operand of a part of 'gate_quantize' [E122]");
  EXPECT_EQ(fault([](Value &fusion) { fusion["attributes"] = Value::array(); }),
            "attribute 'activation' of a part of 'gate_quantize' is missing [E122]");
  EXPECT_EQ(fault([](Value &fusion) { fusion["dimensions"].push_back("k"); }),
            "'k' is no dimension of a part of 'gate_quantize' [E122]");
  EXPECT_EQ(fault([](Value &fusion) { fusion["parts"][0]["as"].clear(); }),
            "'quantize_activation' reads 'gated', which no part before it makes [E122]");
  EXPECT_EQ(fault([](Value &fusion) { fusion["parts"][1]["as"].erase("input"); }),
            "'gated' is made by 1 and read by 0 parts of 'gate_quantize', not by one each [E122]");
  EXPECT_EQ(fault([](Value &fusion) { fusion["inner"]["gated"] = {"k"}; }),
            "'k' of inner value 'gated' is no static dimension of 'gate_quantize' [E122]");
}

TEST(Fusion, C3_E102_TwoFusedProvidersThatMeetAreRefused) {
  EditedTree tree;
  const std::string other = "kernel_maps/gate_quantize/other.json";
  std::string text = tree.read(map);
  for (size_t at; (at = text.find("silu_gate_f32_quantize_i8_b32")) != std::string::npos;)
    text.replace(at, 29, "other");
  tree.write(other, text);
  EXPECT_EQ(firstLine(tree.fault()),
            other + ":" + tree.position(other, "\"other\"") +
                ": error: kernels 'other' and 'silu_gate_f32_quantize_i8_b32' both provide "
                "'gate_quantize' under one contract; exactly one must match [E102]");
}

} // namespace
