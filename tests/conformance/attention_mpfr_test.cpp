//===- attention_mpfr_test.cpp - what the bounds of attention see ---------===//
//
// Negative controls of C8's first comparison: each contract of attention and of the KV state with
// one word altered no longer keeps its bound.
//
//===----------------------------------------------------------------------===//
#include "tests/conformance/Oracle.h"

#include <functional>
#include <gtest/gtest.h>

namespace writ::test {
namespace {

const Dimensions kHeads{{"rows", 2}, {"heads", 2}, {"kv_heads", 1}, {"head_dim", 64}};

double worstOf(const std::string &contract, const std::function<void(Problem &)> &alter,
               Fill fill = Fill::plain, const std::vector<int32_t> &positions = {40, 300}) {
  auto problem = makeProblem(contract, kHeads, {.fill = fill, .seed = 7, .positions = positions});
  const auto numbers = problem->call.numbers;
  const auto operands = problem->call.operands;
  alter(*problem);
  problem->evaluate();
  problem->call.numbers = numbers; // what the contract is judged by
  problem->call.operands = operands;
  return worstErrorOverBound(*problem);
}

std::function<void(Problem &)> word(const std::string &field, const std::string &value) {
  return [=](Problem &p) { p.contract[field] = value; };
}

/// The contracts of attention that `wanted` asks for.
std::vector<std::string> those(const std::function<bool(const nlohmann::json &)> &wanted) {
  std::vector<std::string> ids;
  for (const auto &[id, contract] : Data::get().contracts)
    if (contract["family"] == "attention" && wanted(contract))
      ids.push_back(id);
  EXPECT_FALSE(ids.empty());
  return ids;
}

TEST(C8_AttentionBoundSeesAFault, QueryRoundedToBinary16) {
  for (const std::string &id : those([](const nlohmann::json &c) {
         return c["q_compute"] == "fp32" && c["operands"]["q"]["storage"] == "f32";
       }))
    EXPECT_GT(worstOf(id, word("q_compute", "fp16_rounded")), 1) << id;
}

// The fault that the contracts were made against: K and V as they are where they are to be
// rounded, and rounded where they are to be used as they are.
TEST(C8_AttentionBoundSeesAFault, KAndVRoundedOrNot) {
  const auto compute = [](const std::string &how) {
    return [=](Problem &p) { p.contract["k_compute"] = p.contract["v_compute"] = how; };
  };
  EXPECT_GT(worstOf("f16_kv_fp32_online", compute("fp32")), 3);
  for (const std::string &id : those([](const nlohmann::json &c) {
         return c["operands"]["kv"]["storage"] == "f32" && c["k_compute"] == "fp32";
       }))
    EXPECT_GT(worstOf(id, compute("fp16_rounded")), 3) << id;
}

TEST(C8_AttentionBoundSeesAFault, ValuesAccumulatedInBinary16) {
  for (const std::string &id : those([](const nlohmann::json &c) {
         return c["value_accumulator"] == "fp32" && c["softmax_statistics"] == "fp32" &&
                c["operands"]["out"]["storage"] == "f32";
       }))
    EXPECT_GT(worstOf(id, word("value_accumulator", "fp16_rounded_each_update")), 1) << id;
}

TEST(C8_AttentionBoundSeesAFault, PartialsInBinary16) {
  for (const std::string &id : those([](const nlohmann::json &c) {
         return c.value("partial_storage", "") == "fp32" && c["mask"] == "causal" &&
                c["operands"]["out"]["storage"] == "f32";
       }))
    EXPECT_GT(worstOf(id, word("partial_storage", "fp16")), 1) << id;
}

TEST(C8_AttentionBoundSeesAFault, ScoresInBfloat16) {
  for (const std::string &id : those([](const nlohmann::json &c) {
         return c["score_scale"] == "fp32_mul_after_dot" && c["value_accumulator"] == "fp32" &&
                c["softmax_statistics"] == "fp32";
       }))
    EXPECT_GT(worstOf(id, word("score_scale", "bf16_mul_after_bf16_dot")), 1) << id;
}

TEST(C8_AttentionBoundSeesAFault, AQueryScaledByAnotherNumberOrNotAtAll) {
  for (const std::string &id :
       those([](const nlohmann::json &c) { return c["score_scale"] == "fp32_mul_of_query"; }))
    for (const float scale : {0.128f, 1.0f})
      EXPECT_GT(worstOf(id, [=](Problem &p) { p.call.numbers["scale"] = scale; }), 1) << id;
}

TEST(C8_AttentionBoundSeesAFault, NoCapNoSink) {
  for (const std::string &id :
       those([](const nlohmann::json &c) { return c["soft_cap"] != "none"; })) {
    EXPECT_GT(worstOf(id,
                      [](Problem &p) {
                        p.contract["soft_cap"] = "none";
                        p.contract.erase("soft_cap_function");
                        p.call.numbers.erase("soft_cap");
                      }),
              1)
        << id;
    EXPECT_GT(worstOf(id, [](Problem &p) { p.call.numbers["soft_cap"] = 3.125; }), 1) << id;
  }
  for (const std::string &id : those([](const nlohmann::json &c) { return c["sinks"] != "none"; }))
    EXPECT_GT(worstOf(id,
                      [](Problem &p) {
                        p.contract["sinks"] = "none";
                        p.contract["operands"].erase("sinks");
                        p.call.operands.erase("sinks");
                      },
                      Fill::dominating, {0, 3}),
              1)
        << id;
}

TEST(C8_AttentionBoundSeesAFault, MissingRescaleOfTheMerge) {
  for (const std::string &id : those([](const nlohmann::json &c) {
         return c["partition"]["kind"] != "none" && c["mask"] == "causal";
       })) {
    const auto coarse = [](Problem &p) { // exp(x) is 1 where x is small: partials are just added
      for (auto &function : p.functions["functions"])
        if (function["name"] == p.contract["exponential"])
          function["special"].insert(function["special"].begin(), "x < 0: 1");
    };
    EXPECT_GT(worstOf(id, coarse), 1) << id;
  }
}

TEST(C8_KvStoreBoundSeesAFault, AnotherLimitAndCodesCutOff) {
  const std::string id = "kv_store_q8_0_v0";
  EXPECT_GT(worstOf(id, [](Problem &p) { p.contract["code_limit"] = 63; }, Fill::plain, {0, 1}), 1);
  EXPECT_GT(
      worstOf(id, [](Problem &p) { p.contract["zero_below"] = "0x1p+9"; }, Fill::plain, {0, 1}), 1);
}

} // namespace
} // namespace writ::test
