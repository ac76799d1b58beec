//===- exceptional_test.cpp - NaN, infinities, -0, subnormals, overflow ---===//
//
// What the contracts of norms, activations, caps and the binary16 family say in `exceptional`, on
// inputs that have it. exceptional_positions_test.cpp says where the other families have theirs.
//
//===----------------------------------------------------------------------===//
#include "ir/Reference/Storage.h"
#include "tests/conformance/Problem.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace writ::test {
namespace {

constexpr float kInfinite = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr int64_t kRows = 2, kSize = 8;

/// The operands that a vector's or an element's value comes in by; weights are not among them.
const std::map<std::string, std::vector<std::string>> kInputs = {
    {"activation", {"input"}}, {"gate", {"gate", "up"}}, {"layer_norm", {"input"}},
    {"l2_norm", {"input"}},    {"residual", {"a", "b"}}, {"rms_norm", {"input"}},
    {"soft_cap", {"input"}}};

bool isNorm(const std::string &family) {
  return family.ends_with("_norm");
}

std::unique_ptr<Problem> problemOf(const std::string &contract) {
  return makeProblem(contract, {{"rows", kRows}, {"vectors", 1}, {"n", kSize}, {"k", kSize}}, {});
}

void set(Problem &problem, const std::string &operand, int64_t index, float value) {
  reference::writeScalar(problem.call.operands.at(operand).storage,
                         problem.buffers.at(operand).base(), index, value);
}

/// The results with one element of one operand in the place of another.
std::vector<float> with(const std::string &contract, const std::string &operand, int64_t index,
                        float value) {
  auto problem = problemOf(contract);
  set(*problem, operand, index, value);
  problem->evaluate();
  return problem->values("out");
}

TEST(F8_Exceptional, ANaNReachesWhatDependsOnItAndNothingElse) {
  size_t contracts = 0;
  for (const auto &[id, contract] : Data::get().contracts) {
    const std::string family = contract["family"];
    if (!kInputs.contains(family))
      continue;
    ++contracts;
    ASSERT_EQ(contract["exceptional"]["nan"], "propagates") << id;
    for (const std::string &operand : kInputs.at(family)) {
      const std::vector<float> out = with(id, operand, 3, kNaN);
      for (int64_t i = 0; i < kRows * kSize; ++i)
        EXPECT_EQ(std::isnan(out[i]), isNorm(family) ? i < kSize : i == 3)
            << id << ", " << operand << ", " << i;
    }
  }
  EXPECT_GE(contracts, 25u);
}

TEST(F8_Exceptional, AnInfinityGoesByIeee) {
  for (const std::string width : {"f32", "f16"}) {
    // inf - inf is the deviation of an infinity from its mean; what is divided by inf is 0.
    const std::vector<float> layer =
        with("layer_norm_" + width + "_lanes64_v0", "input", 3, kInfinite);
    const std::vector<float> rms = with("rms_norm_" + width + "_lanes64_v0", "input", 3, kInfinite);
    for (int64_t i = 0; i < kSize; ++i) {
      EXPECT_TRUE(std::isnan(layer[i])) << width << ", " << i;
      EXPECT_TRUE(i == 3 ? std::isnan(rms[i]) : rms[i] == 0) << width << ", " << i;
    }
    EXPECT_TRUE(std::isfinite(layer[kSize]) && std::isfinite(rms[kSize])) << "another vector";

    const std::string cap = "soft_cap_" + width + "_v0", sum = "residual_" + width + "_v0";
    EXPECT_EQ(with(cap, "input", 3, kInfinite)[3], 30);
    EXPECT_EQ(with(cap, "input", 3, -kInfinite)[3], -30);
    EXPECT_EQ(with(sum, "a", 3, -kInfinite)[3], -kInfinite);
    auto problem = problemOf(sum);
    set(*problem, "a", 3, kInfinite);
    set(*problem, "b", 3, -kInfinite);
    problem->evaluate();
    EXPECT_TRUE(std::isnan(problem->values("out")[3]));
    EXPECT_EQ(with("gelu_erf_activation_" + width + "_v0", "input", 3, kInfinite)[3], kInfinite);
    EXPECT_EQ(with("gelu_erf_activation_" + width + "_v0", "input", 3, -kInfinite)[3], 0);
    EXPECT_EQ(with("relu_squared_activation_" + width + "_v0", "input", 3, -kInfinite)[3], 0);
  }
  EXPECT_EQ(with("l2_norm_f32_lanes64_v0", "input", 3, kInfinite)[2], 0);
  EXPECT_TRUE(std::isnan(with("l2_norm_f32_lanes64_v0", "input", 3, kInfinite)[3]));
  EXPECT_EQ(with("sigmoid_activation_f32_v0", "input", 3, -kInfinite)[3], 0);
  EXPECT_EQ(with("softplus_activation_f32_v0", "input", 3, kInfinite)[3], kInfinite);
  EXPECT_EQ(with("tanh_activation_f32_v0", "input", 3, -kInfinite)[3], -1);
}

TEST(F8_Exceptional, AVectorOfZerosIsNormalizedToZeros) {
  for (const auto &[id, contract] : Data::get().contracts) {
    const std::string family = contract["family"];
    if (!isNorm(family))
      continue;
    auto problem = problemOf(id);
    for (int64_t i = 0; i < kSize; ++i) {
      set(*problem, "input", i, 0);
      if (problem->buffers.contains("bias"))
        set(*problem, "bias", i, 0);
    }
    problem->evaluate();
    for (int64_t i = 0; i < kSize; ++i)
      EXPECT_EQ(problem->values("out")[i], 0) << id;
  }
}

TEST(F8_Exceptional, SignedZerosAndSubnormalsAreKept) {
  EXPECT_TRUE(std::signbit(with("tanh_activation_f32_v0", "input", 3, -0.0f)[3]));
  EXPECT_FALSE(std::signbit(with("relu_activation_f32_v0", "input", 3, -0.0f)[3]));
  for (const auto &[width, least] : {std::pair{"f32", 0x1p-149f}, std::pair{"f16", 0x1p-24f}}) {
    auto problem = problemOf(std::string("residual_") + width + "_v0");
    set(*problem, "a", 0, least);
    set(*problem, "b", 0, 0);
    set(*problem, "a", 1, -0.0f);
    set(*problem, "b", 1, -0.0f);
    problem->evaluate();
    const std::vector<float> out = problem->values("out");
    EXPECT_EQ(out[0], least);
    EXPECT_TRUE(std::signbit(out[1]));
  }
}

// One rounding when a result is stored, to nearest even; what is too large becomes an infinity.
TEST(F8_Exceptional, Binary16ResultsAreRoundedOnceAndOverflowToInfinity) {
  auto problem = problemOf("residual_f16_v0");
  const std::pair<float, float> pairs[] = {
      {65504, 15}, {65504, 16}, {-65504, -65504}, {1, 0x1p-11f}, {1 + 0x1p-10f, 0x1p-11f}};
  for (int64_t i = 0; i < 5; ++i) {
    set(*problem, "a", i, pairs[i].first);
    set(*problem, "b", i, pairs[i].second);
  }
  problem->evaluate();
  const std::vector<float> out = problem->values("out");
  EXPECT_EQ(out[0], 65504) << "below half way to 2^16";
  EXPECT_EQ(out[1], kInfinite) << "half way: to even";
  EXPECT_EQ(out[2], -kInfinite);
  EXPECT_EQ(out[3], 1) << "half way between 1 and 1 + 2^-10: to even";
  EXPECT_EQ(out[4], 1 + 0x1p-9f) << "half way: to even";

  // The sum of a linear is binary32: an intermediate beyond binary16 is no overflow.
  auto linear = makeProblem("linear_f16_f16_f16_v0", {{"rows", 1}, {"k", 64}, {"n", 1}}, {});
  for (int64_t i = 0; i < 64; ++i) {
    set(*linear, "activation", i, 1000);
    set(*linear, "weight", i, i < 32 ? 1000 : -1000);
  }
  set(*linear, "bias", 0, 0.5f);
  linear->evaluate();
  EXPECT_EQ(linear->values("out")[0], 0.5f);
  set(*linear, "weight", 0, 60000);
  linear->evaluate();
  EXPECT_EQ(linear->values("out")[0], kInfinite);
}

} // namespace
} // namespace writ::test
