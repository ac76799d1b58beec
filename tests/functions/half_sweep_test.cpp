//===- half_sweep_test.cpp - functions of binary16, all arguments ----------===//
//
// What function_sweep does with a function that rounds its argument to binary16, against the
// record: every argument, but MPFR decides the largest errors and a part of the others alone.
//
//===----------------------------------------------------------------------===//
#include "tests/conformance/Data.h"
#include "tests/functions/HalfSweep.h"
#include "tests/functions/Record.h"
#include "tests/functions/StepArrays.h"

#include <gtest/gtest.h>

namespace writ::test {
namespace {

constexpr HalfSweepOptions kScreened{97};
const std::string kGelu = "gelu_f16_ggml_v0";

const nlohmann::json &functions() {
  return Data::get().functions;
}

nlohmann::json altered(const char *pointer, const nlohmann::json &value) {
  nlohmann::json copy = functions();
  for (nlohmann::json &function : copy["functions"])
    if (function["name"] == kGelu)
      function[nlohmann::json::json_pointer(pointer)] = value;
  return copy;
}

class F8_HalfFunction : public testing::Test {
protected:
  void SetUp() override {
    if (!canSweep())
      GTEST_SKIP() << "this processor has no AVX2 and FMA, which the sweep is compiled for";
  }
};

// Each function of one binary32 argument is decided over all of them, in one of the two ways.
TEST_F(F8_HalfFunction, EveryFunctionIsSweptInOneWay) {
  int halves = 0;
  for (const nlohmann::json &function : functions()["functions"]) {
    if (!StepArrays::isBinary32(function))
      continue;
    EXPECT_NE(StepArrays::isSwept(function), roundsItsArgument(function)) << function["name"];
    EXPECT_EQ(function.contains("max_ulp_of"), roundsItsArgument(function)) << function["name"];
    halves += roundsItsArgument(function);
  }
  EXPECT_GT(halves, 0);
}

TEST_F(F8_HalfFunction, AllArgumentsAreAsRecorded) {
  for (const nlohmann::json &function : functions()["functions"]) {
    if (!roundsItsArgument(function))
      continue;
    const std::string name = function["name"];
    const SweepResult all = sweepHalves(functions(), name, productionForms(name), kScreened);
    EXPECT_EQ(differenceFromHalfRecord(functions(), name, all), "");
  }
}

TEST_F(F8_HalfFunction, AStepThatReadsTheUnroundedArgumentIsSeen) {
  nlohmann::json wrong = altered("/steps/4", "y = rn16(rn(rn(half * x) * rn(1 + t)))");
  EXPECT_FALSE(roundsItsArgument(functionNamed(wrong, kGelu)));
  EXPECT_NE(sweepHalves(wrong, kGelu, {}, kScreened).fault.find("does not read its argument"),
            std::string::npos);
}

TEST_F(F8_HalfFunction, AWrongDigitOfAConstantIsSeen) {
  const nlohmann::json wrong = altered("/constants/coefficient", "0x1.6e4f26p-5");
  const SweepResult result = sweepHalves(wrong, kGelu, {}, kScreened);
  EXPECT_NE(result.digest, readRecord(kGelu)["sha256"]);
  EXPECT_NE(differenceFromHalfRecord(wrong, kGelu, result), "");
  EXPECT_NE(
      sweepHalves(wrong, kGelu, productionForms(kGelu), kScreened).fault.find("of the kernels"),
      std::string::npos);
}

TEST_F(F8_HalfFunction, AResultThatIsNoBinary16IsSeen) {
  const nlohmann::json wrong = altered("/steps/4", "y = rn(rn(half * h) * rn(1 + t))");
  EXPECT_TRUE(std::isinf(sweepHalves(wrong, kGelu, {}, kScreened).maxUlp));
}

TEST_F(F8_HalfFunction, ASpecialCaseThatBeginsTooEarlyIsSeen) {
  const nlohmann::json wrong =
      altered("/special", nlohmann::json::array({"isnan(x): nan", "x < -2: 0", "x > 10: x"}));
  EXPECT_GT(sweepHalves(wrong, kGelu, {}, kScreened).maxUlp, 100);
}

TEST_F(F8_HalfFunction, AMaximumThatIsStatedOtherwiseIsSeen) {
  const SweepResult result = sweepHalves(functions(), kGelu, {}, kScreened);
  const nlohmann::json wrong = altered("/max_ulp", 0.5);
  EXPECT_EQ(differenceFromHalfRecord(wrong, kGelu, result),
            kGelu + ": functions.json states max_ulp 0.5, the record has " +
                readRecord(kGelu)["max_ulp"].dump());
}

} // namespace
} // namespace writ::test
