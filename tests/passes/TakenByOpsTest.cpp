//===- TakenByOpsTest.cpp - what an op gives beyond its family's needs ----===//
#include "tests/emit/Example.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace writ::test {
namespace {

const Catalog &catalog() {
  static const Catalog read = repositoryCatalog(WRIT_SOURCE_DIR);
  return read;
}

CircuitInstance tinyInstance() {
  TinyModel model;
  return instantiate(catalog(), findCircuit(catalog(), model), model);
}

/// The attention of the portable profile under another contract.
Profile portableWith(const std::string &contract) {
  Profile profile = catalog().profiles().at("portable");
  for (ProfileRule &rule : profile.rules)
    if (rule.op == "attention" && rule.match.at("mask") == "causal")
      rule.contract = contract;
  return profile;
}

/// What is said first, when the attention ops of the tiny model are altered.
std::string refusal(const Profile &profile, const std::function<void(InstanceOp &)> &alter,
                    bool resolves = false) {
  CircuitInstance instance = tinyInstance();
  for (InstanceOp &op : instance.ops)
    if (op.op == "attention")
      alter(op);
  try {
    Compilation compilation;
    compilation.buildRequirements(instance, catalog(), profile);
    if (resolves)
      compilation.resolve(catalog());
    return "";
  } catch (const Error &error) {
    const Diagnostic &fault = error.diagnostics().front();
    std::string text = "[" + fault.code + "] " + fault.message;
    for (const Note &note : fault.notes)
      text += "\n" + note.message;
    return text;
  }
}

const char *const kCapped = "attention_f16_kv_soft_cap_tiles32_chunks256_v0";

TEST(TakenByOps, C1_E202_ANumberThatNoWordOfTheContractTakes) {
  EXPECT_EQ(refusal(portableWith("attention_f16_kv_tiles32_chunks256_v0"), [](InstanceOp &) {}),
            "");
  EXPECT_EQ(refusal(portableWith("attention_f16_kv_tiles32_chunks256_v0"),
                    [](InstanceOp &op) { op.numbers["soft_cap"] = 50; }),
            "[E202] 'blk.0.attention' gives number 'soft_cap', but no word of its contract "
            "'attention_f16_kv_tiles32_chunks256_v0' takes that\n"
            "it is taken by 'fp32_cap_times_tanh_of_quotient' of 'soft_cap'");
}

TEST(TakenByOps, C1_E202_ANumberThatAWordOfTheContractTakesIsNeeded) {
  EXPECT_EQ(refusal(portableWith(kCapped), [](InstanceOp &) {}),
            "[E202] 'blk.0.attention' gives no number 'soft_cap', which "
            "'fp32_cap_times_tanh_of_quotient' of 'soft_cap' takes in its contract "
            "'attention_f16_kv_soft_cap_tiles32_chunks256_v0'\n"
            "the word stands here");
  EXPECT_EQ(refusal(portableWith(kCapped), [](InstanceOp &op) { op.numbers["soft_cap"] = 50; }),
            "");
  EXPECT_EQ(
      refusal(portableWith("attention_f16_kv_sinks_tiles32_chunks256_v0"), [](InstanceOp &) {}),
      "[E202] 'blk.0.attention' gives no operand 'sinks', which 'fp32_logit_after_keys' of 'sinks' "
      "takes in its contract 'attention_f16_kv_sinks_tiles32_chunks256_v0'\n"
      "the word stands here");
}

// A contract that nobody provides yet is refused by its name, with what there is.
TEST(TakenByOps, C3_E101_AContractWithoutAProviderNamesIt) {
  const std::string said = refusal(
      portableWith("f16_online_fp32_merge"), [](InstanceOp &) {}, true);
  EXPECT_TRUE(said.starts_with("[E101] no kernel provides 'attention' for {q=f32, kv=f16, out=f32"))
      << said;
  EXPECT_NE(said.find("contract=f16_online_fp32_merge"), std::string::npos) << said;
  EXPECT_NE(said.find("\nnearest provider 'attention_f16_tiles32_chunks256' differs in contract: "
                      "keeps attention_f16_kv_tiles32_chunks256_v0\n"),
            std::string::npos)
      << said;
}

} // namespace
} // namespace writ::test
