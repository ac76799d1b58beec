//===- ggml_test.cpp - the `ggml` profile against ggml's recorded answers --===//
//
// The record is of the build that scripts/setup-oracles pins; `make evidence` asks it again.
//
//===----------------------------------------------------------------------===//
#include "tests/conformance/GgmlRecord.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <set>

namespace writ::test {
namespace {

const std::vector<GgmlCase> &cases() {
  static const std::vector<GgmlCase> list = ggmlCases();
  return list;
}

class C8_GgmlOps : public testing::TestWithParam<size_t> {};

TEST_P(C8_GgmlOps, ReferenceGivesTheBitsOfGgml) {
  const GgmlCase &one = cases()[GetParam()];
  const GgmlDistance distance = compareWithRecord(one, ggmlRecord());
  EXPECT_GT(distance.values, 0);
  if (one.isExact) {
    EXPECT_EQ(distance.different, 0)
        << one.name << ": of " << distance.values << ", up to " << distance.worstUlp << " ulp";
  } else {
    ASSERT_TRUE(one.tolerance) << one.name;
    EXPECT_LE(distance.worstOfTolerance, 1) << one.name << ": up to " << distance.worstAbs;
  }
  const double allowed = one.isExact ? 0 : 1;
  const double error =
      one.isExact ? static_cast<double>(distance.different) : distance.worstOfTolerance;
  // For the table of the gate.
  RecordProperty("oracle", "ggml");
  RecordProperty("contract", one.contract);
  RecordProperty("error_over_allowed", std::to_string(error <= allowed ? error : INFINITY));
}

std::string caseName(const testing::TestParamInfo<size_t> &info) {
  std::string name = cases()[info.param].name;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(, C8_GgmlOps, testing::Range<size_t>(0, ggmlCases().size()), caseName);

// The record holds what the list asks for, and nothing that nobody asks for any more.
TEST(C8_GgmlRecord, HasTheCasesOfTheList) {
  std::set<std::string> listed, recorded;
  for (const GgmlCase &one : cases())
    EXPECT_TRUE(listed.insert(one.name).second) << one.name << " stands twice";
  for (const auto &one : ggmlRecord().at("cases"))
    recorded.insert(one.at("name").get<std::string>());
  EXPECT_EQ(listed, recorded);
}

// Each rule of the profile has a case. ggml has no op that samples or that takes a log-probability:
// those two contracts are the portable ones.
TEST(C8_GgmlRecord, HasACaseOfEachRuleOfTheProfile) {
  const std::set<std::string> notGgmls{"sample", "log_probability"};
  std::set<std::string> covered;
  for (const GgmlCase &one : cases()) {
    covered.insert(one.contract);
    covered.insert(one.through.begin(), one.through.end());
  }
  size_t rules = 0;
  for (const auto &rule : Data::get().profiles.at("ggml")["rules"]) {
    ++rules;
    EXPECT_NE(covered.contains(rule["contract"].get<std::string>()),
              notGgmls.contains(rule["op"].get<std::string>()))
        << rule["contract"];
  }
  EXPECT_GT(rules, 40u);
}

// Negative control: a tolerance that is no bit for bit comparison sees another op all the same.
TEST(C8_GgmlTolerances, SeeAnotherNumber) {
  size_t seen = 0;
  for (GgmlCase &one : ggmlCases()) {
    if (one.isExact || one.name.ends_with(".tiny")) // of which binary16 leaves nothing
      continue;
    ++seen;
    if (one.problem->call.numbers.contains("scale"))
      one.problem->call.numbers["scale"] *= 1.125;
    else if (one.problem->family() == "rope")
      one.problem->floats("input")[0] += 0x1p-18f;
    else
      std::ranges::for_each(one.problem->floats("up"), [](float &up) { up *= 1.01f; });
    EXPECT_GT(compareWithRecord(one, ggmlRecord()).worstOfTolerance, 1) << one.name;
  }
  EXPECT_GE(seen, 10u);
}

// Negative controls: each part of the order that a contract states is seen in ggml's bits.
struct Alteration {
  const char *contract, *field, *word;
};

std::string reductionOf(const nlohmann::json &contract) {
  return contract[contract.contains("reduction") ? "reduction" : "score_reduction"];
}

class C8_GgmlRecordSees : public testing::TestWithParam<Alteration> {};

TEST_P(C8_GgmlRecordSees, AnotherOrder) {
  const Alteration &alteration = GetParam();
  int64_t different = 0;
  for (GgmlCase &one : ggmlCases()) {
    if (one.contract != alteration.contract)
      continue;
    const std::string field = alteration.field;
    nlohmann::json &contract = one.problem->contract;
    nlohmann::json &reductions = one.problem->vocabulary["words"]["reduction"];
    nlohmann::json &word =
        field.starts_with("reduction.")
            ? reductions[reductionOf(contract)][field.substr(field.find('.') + 1)]
            : contract[field];
    ASSERT_NE(word, alteration.word);
    word = alteration.word;
    different += compareWithRecord(one, ggmlRecord()).different;
  }
  EXPECT_GT(different, 0);
}

constexpr Alteration kAlterations[] = {
    {"linear_q4_0_q8_0_ggml_v0", "reduction.merge", "tree_adjacent"},
    {"linear_q8_0_q8_0_ggml_v0", "reduction.multiply_add", "mul_add"},
    {"linear_q4_1_q8_1_ggml_v0", "block_accumulate", "fp32_term_times_lane_dots"},
    {"linear_q4_k_q8_k_ggml_v0", "block_accumulate",
     "fp32_term_times_lane_dots_and_negated_minimum_sum"},
    {"linear_q5_k_q8_k_ggml_v0", "block_accumulate",
     "fp32_term_times_lane_dots_and_negated_minimum_lanes4"},
    {"linear_f32_f32_ggml_v0", "reduction.multiply_add", "mul_add"},
    {"linear_f32_f32_ggml_v0", "reduction.merge", "tree_halves"},
    {"linear_f32_f32_ggml_v0", "reduction.order", "lanes"},
    {"linear_f16_f16_ggml_v0", "activation_compute", "fp32"},
    {"linear_f16_f16_ggml_v0", "reduction.order", "lanes_rest_fp32"},
    {"linear_bf16_bf16_ggml_v0", "activation_compute", "fp32"},
    {"linear_bf16_bf16_ggml_v0", "reduction.merge", "tree_halves_adjacent4"},
    {"linear_bf16_bf16_ggml_v0", "reduction.order", "lanes_rest_fp32"},
    {"attention_f16_kv_two_pass_ggml_v0", "q_compute", "fp32"},
    {"attention_f16_kv_two_pass_ggml_v0", "reduction.merge", "tree_halves"},
    {"attention_f16_kv_scaled_query_two_pass_ggml_v0", "score_scale", "fp32_mul_after_dot"},
    {"attention_f16_kv_scaled_query_window_two_pass_ggml_v0", "score_scale", "fp32_mul_after_dot"},
    {"silu_gate_f32_ggml_v0", "function", "silu_f32_v0"},
    {"linear_q6_k_q8_k_ggml_v0", "product", "i32_exact_scaled_lane_dots"},
    {"quantize_activation_q8_0_ggml_v0", "code", "fp32_mul_inverse_scale"},
    {"quantize_activation_q8_1_ggml_v0", "zero_below", "0x1p-120"},
    {"quantize_activation_q8_k_ggml_v0", "zero_below", "0x1p-120"},
};

INSTANTIATE_TEST_SUITE_P(, C8_GgmlRecordSees, testing::ValuesIn(kAlterations),
                         [](const testing::TestParamInfo<Alteration> &info) {
                           std::string name =
                               std::string(info.param.contract) + "_" + info.param.field;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

} // namespace
} // namespace writ::test
