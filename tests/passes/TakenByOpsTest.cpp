//===- TakenByOpsTest.cpp - what an op gives beyond its family's needs ----===//
#include "compiler/Resolve/Resolver.h"
#include "tests/emit/Example.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

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

/// The causal attention of the portable profile under one other contract, whatever an op gives.
Profile portableWith(const std::string &contract) {
  Profile profile = catalog().profiles().at("portable");
  std::set<std::string> seen; // by storage
  std::erase_if(profile.rules, [&](const ProfileRule &rule) {
    return rule.op == "attention" && rule.match.at("mask") == "causal" &&
           !seen.insert(rule.match.at("kv")).second;
  });
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

/// Of the portable profile's rules for one storage and mask, that whose contract takes what the op
/// gives; each has its kernel.
TEST(TakenByOps, C1_AProfileChoosesByWhatAnOpGives) {
  const Profile &portable = catalog().profiles().at("portable");
  const std::map<std::string, std::string> fields = {{"kv", "f16"}, {"mask", "causal"}};
  const auto chosen = [&](const std::set<std::string> &given) {
    return contractOf(catalog(), portable, "attention", fields, "profile", {}, given);
  };
  EXPECT_EQ(chosen({"scale"}), "attention_f16_kv_tiles32_chunks256_v0");
  EXPECT_EQ(chosen({"q", "scale", "soft_cap"}), kCapped);
  EXPECT_EQ(chosen({"sinks", "scale"}), "attention_f16_kv_sinks_tiles32_chunks256_v0");
  EXPECT_EQ(refusal(
                portable, [](InstanceOp &op) { op.numbers["soft_cap"] = 50; }, true),
            "");
}

TEST(TakenByOps, C3_E111_WhatNoContractTakesTogetherIsRefused) {
  const Profile &portable = catalog().profiles().at("portable");
  try {
    contractOf(catalog(), portable, "attention", {{"kv", "f16"}, {"mask", "causal"}}, "profile", {},
               {"scale", "sinks", "soft_cap"});
    FAIL() << "no contract takes both";
  } catch (const Error &error) {
    const Diagnostic &fault = error.diagnostics().front();
    EXPECT_EQ(fault.code, "E111");
    EXPECT_EQ(fault.message, "profile 'portable' has no contract for 'attention' with {kv=f16, "
                             "mask=causal} that takes sinks and soft_cap");
    ASSERT_EQ(fault.notes.size(), 3u);
    EXPECT_EQ(fault.notes[1].message,
              "this rule gives 'attention_f16_kv_soft_cap_tiles32_chunks256_v0'");
  }
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
