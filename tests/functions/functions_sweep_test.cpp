//===- functions_sweep_test.cpp - the functions, a part of the arguments --===//
//
// A strided part of what function_sweep does over all 2^32 arguments, against the part's own digest
// in the record: a function that changed is seen in seconds.
//
//===----------------------------------------------------------------------===//
#include "tests/conformance/Data.h"
#include "tests/functions/ExactFunction.h"
#include "tests/functions/Record.h"
#include "tests/functions/Sample.h"
#include "tests/functions/StepArrays.h"

#include "ir/Reference/Reference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <gtest/gtest.h>

namespace writ::test {
namespace {

const nlohmann::json &functions() {
  return Data::get().functions;
}

std::vector<std::string> binary32Functions() {
  std::vector<std::string> names;
  for (const nlohmann::json &function : functions()["functions"])
    if (StepArrays::isSwept(function))
      names.push_back(function["name"]);
  return names;
}

SweepResult stridedSweep(const nlohmann::json &of, const std::string &name,
                         const std::vector<Production> &production) {
  return stridedResult(of, name, production);
}

/// functions.json with another text in one place of a function.
nlohmann::json altered(const std::string &name, const char *pointer, const nlohmann::json &value) {
  nlohmann::json copy = functions();
  for (nlohmann::json &function : copy["functions"])
    if (function["name"] == name)
      function[nlohmann::json::json_pointer(pointer)] = value;
  return copy;
}

class F8_Function : public testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    if (!canSweep())
      GTEST_SKIP() << "this processor has no AVX2 and FMA, which the sweep is compiled for";
  }
};

TEST_P(F8_Function, StridedArgumentsAreAsRecorded) {
  EXPECT_EQ(stridedDifference(functions(), GetParam(),
                              stridedSweep(functions(), GetParam(), productionForms(GetParam()))),
            "");
}

/// Whether a contract, or a part of one, names the function.
bool states(const nlohmann::json &contract, const std::string &name) {
  for (const auto &[field, value] : contract.items())
    if (value == name ||
        (field == "parts" && std::any_of(value.begin(), value.end(),
                                         [&](const auto &part) { return states(part, name); })))
      return true;
  return false;
}

/// Whether a kernel keeps a contract that names the function.
bool isInUse(const std::string &name) {
  for (const auto &[id, map] : Data::get().kernelMaps)
    for (const std::string contract : map["contracts"])
      if (states(Data::get().contract(contract), name))
        return true;
  return false;
}

TEST_P(F8_Function, AKernelThatUsesItHasAFormOfItsOwn) {
  EXPECT_TRUE(!isInUse(GetParam()) || !productionForms(GetParam()).empty())
      << "production_table.cpp has no line for it";
}

// The arrays take the steps that the reference takes.
TEST_P(F8_Function, ArraysEqualTheReference) {
  StepArrays steps(functions(), GetParam());
  Random random(9);
  std::vector<float> x(StepArrays::kBlock), y(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = i % 2 ? std::bit_cast<float>(static_cast<uint32_t>(random.bits()))
                 : static_cast<float>(random.uniform(-100, 100));
  const float edges[] = {0.0f,      -0.0f,      INFINITY, -INFINITY, NAN,    0x1p-149f,
                         0x1p-126f, -0x1p-126f, 88.8f,    -103.9f,   3.4e38f};
  std::copy(std::begin(edges), std::end(edges), x.begin());
  steps.evaluate(x, y);
  for (size_t i = 0; i < x.size(); ++i) {
    const double reference = reference::evaluateFunction(functions(), GetParam(), x[i]).at(0);
    EXPECT_TRUE(sameFloat(y[i], static_cast<float>(reference)))
        << x[i] << ": " << y[i] << ", reference " << reference;
  }
}

INSTANTIATE_TEST_SUITE_P(, F8_Function, testing::ValuesIn(binary32Functions()),
                         [](const auto &info) { return info.param; });

// Binary64: chosen arguments, each result decided by MPFR.
TEST(F8_SampledFunction, StridedArgumentsAreAsRecorded) {
  int sampled = 0;
  for (const nlohmann::json &function : functions()["functions"])
    if (isSampled(function)) {
      const std::string name = function["name"];
      EXPECT_EQ(stridedDifference(functions(), name, stridedSweep(functions(), name, {})), "");
      ++sampled;
    }
  EXPECT_GT(sampled, 0);
}

TEST(F8_SampledFunction, AWrongDigitOfAConstantIsSeen) {
  const nlohmann::json wrong = altered("sincos_f64_v0", "/constants/S0", "-0x1.5555555556549p-3");
  const SweepResult result = stridedSweep(wrong, "sincos_f64_v0", {});
  EXPECT_NE(result.digest, stridedSweep(functions(), "sincos_f64_v0", {}).digest);
  EXPECT_NE(result.fault.find("the kernels' form disagrees"), std::string::npos) << result.fault;
  EXPECT_NE(stridedDifference(wrong, "sincos_f64_v0", {}).find("its steps are not those"),
            std::string::npos);
}

// Negative controls, by one function: the first that has a constant.

TEST(F8_FunctionSweepSees, AWrongDigitOfAConstant) {
  const nlohmann::json wrong = altered("exp_f32_v0", "/constants/C1", "0x1.555692p-3");
  const SweepResult result = stridedSweep(wrong, "exp_f32_v0", {});
  EXPECT_NE(result.digest, stridedSweep(functions(), "exp_f32_v0", {}).digest);
  EXPECT_NE(stridedDifference(wrong, "exp_f32_v0", result).find("its steps are not those"),
            std::string::npos);
  // The kernels keep the right one.
  const SweepResult against = stridedSweep(wrong, "exp_f32_v0", productionForms("exp_f32_v0"));
  EXPECT_NE(against.fault.find("of the kernels"), std::string::npos) << against.fault;
  EXPECT_GT(result.maxUlp, functionNamed(functions(), "exp_f32_v0")["max_ulp"].get<double>());
}

TEST(F8_FunctionSweepSees, AFunctionThatCallsAChangedOne) {
  const nlohmann::json wrong = altered("exp_f32_v0", "/constants/C1", "0x1.555692p-3");
  EXPECT_NE(stepsDigest(wrong, "silu_f32_v0"), stepsDigest(functions(), "silu_f32_v0"));
}

TEST(F8_FunctionSweepSees, AMaximumThatIsStatedOtherwise) {
  const nlohmann::json wrong = altered("exp_f32_v0", "/max_ulp", 0.8);
  EXPECT_EQ(stridedDifference(wrong, "exp_f32_v0", stridedSweep(wrong, "exp_f32_v0", {})),
            "exp_f32_v0: functions.json states max_ulp 0.8, the record has " +
                readRecord("exp_f32_v0")["max_ulp"].dump());
}

TEST(F8_FunctionSweepSees, AResultThatIsNotRecorded) {
  SweepResult result = stridedSweep(functions(), "log_f32_v0", {});
  result.digest[0] = result.digest[0] == '0' ? '1' : '0';
  EXPECT_NE(stridedDifference(functions(), "log_f32_v0", result).find("has the digest"),
            std::string::npos);
}

TEST(F8_FunctionSweepSees, ANaNOrAnInfinityWhereANumberIsDue) {
  for (const char *special : {"x < underflow: nan", "x < underflow: inf", "x > overflow: 0"}) {
    const nlohmann::json wrong =
        altered("exp_f32_v0", "/special", nlohmann::json::array({"isnan(x): nan", special}));
    EXPECT_TRUE(std::isinf(stridedSweep(wrong, "exp_f32_v0", {}).maxUlp)) << special;
  }
}

TEST(F8_FunctionSweepSees, ANumberWhereANaNIsDue) {
  const nlohmann::json wrong =
      altered("log_f32_v0", "/special", nlohmann::json::array({"x < 0: 0", "x == 0: -inf"}));
  EXPECT_NE(stridedSweep(wrong, "log_f32_v0", {}).fault.find("expected a NaN"), std::string::npos);
}

TEST(F8_FunctionSweepSees, AnErrorBeyondTheStatedOnes) {
  const nlohmann::json wrong =
      altered("silu_f32_v0", "/exact", nlohmann::json::array({"x / (1 + exp(-x)) + x / 1000000"}));
  const SweepResult result = stridedSweep(wrong, "silu_f32_v0", {});
  EXPECT_NE(stridedDifference(wrong, "silu_f32_v0", result).find("more than the stated"),
            std::string::npos);
}

TEST(F8_FunctionSweepSees, AnEstimateThatIsTooCoarse) {
  // Nine digits and more are lost to cancellation; MPFR keeps them.
  const nlohmann::json wrong =
      altered("exp_f32_v0", "/exact",
              nlohmann::json::array({"((exp(x) / 1000000000 + 1) - 1) * 1000000000"}));
  const SweepResult result = stridedSweep(wrong, "exp_f32_v0", {});
  EXPECT_NE(result.fault.find("too far to screen by it"), std::string::npos) << result.fault;
}

} // namespace
} // namespace writ::test
