//===- functions_mpfr_test.cpp - the elementary functions' errors ---------===//
//
// The steps of functions.json, as the reference interprets them, against MPFR: within the error
// that the file declares, special values exactly. (All arguments: tests/functions.)
//
//===----------------------------------------------------------------------===//
#include "ir/Reference/Function.h"
#include "tests/conformance/Data.h"
#include "tests/conformance/Mpfr.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace writ::test {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<double> evaluateAll(const std::string &name, double x) {
  static std::map<std::string, reference::Function> read;
  auto [found, isNew] = read.try_emplace(name, Data::get().functions, name);
  return found->second.evaluate(x);
}
double evaluate(const std::string &name, double x) {
  return evaluateAll(name, x).at(0);
}

double declaredUlp(const std::string &name, double otherwise) {
  for (const auto &function : Data::get().functions["functions"])
    if (function["name"] == name && function["max_ulp"].is_number())
      return function["max_ulp"];
  return otherwise;
}

TEST(F8_ElementaryFunctions, Exponential) {
  Random random(1);
  const double limit = declaredUlp("exp_f32_v0", 2);
  for (int i = 0; i < 20000; ++i) {
    const auto x = static_cast<float>(i % 2 ? random.uniform(-103.9, 88.7)
                                            : std::ldexp(random.uniform(-1, 1), -i % 30));
    EXPECT_LE(errorInUlp(evaluate("exp_f32_v0", x), exp(Real(x))), limit) << x;
  }
  EXPECT_EQ(evaluate("exp_f32_v0", 0), 1);
  EXPECT_EQ(evaluate("exp_f32_v0", -0.0), 1);
  EXPECT_EQ(evaluate("exp_f32_v0", -kInfinite), 0);
  EXPECT_FALSE(std::signbit(evaluate("exp_f32_v0", -kInfinite)));
  EXPECT_EQ(evaluate("exp_f32_v0", kInfinite), kInfinite);
  EXPECT_EQ(evaluate("exp_f32_v0", 1000), kInfinite);
  EXPECT_EQ(evaluate("exp_f32_v0", -1000), 0);
  EXPECT_TRUE(std::isnan(evaluate("exp_f32_v0", kNaN)));
  EXPECT_GT(evaluate("exp_f32_v0", -103), 0) << "subnormal results are kept";
}

TEST(F8_ElementaryFunctions, Logarithm) {
  Random random(2);
  const double limit = declaredUlp("log_f32_v0", 2);
  for (int i = 0; i < 20000; ++i) {
    const auto bits = static_cast<uint32_t>(1 + random.below(0x7f7fffff));
    const float x = i % 2 ? std::bit_cast<float>(bits) : static_cast<float>(random.uniform(0.5, 2));
    EXPECT_LE(errorInUlp(evaluate("log_f32_v0", x), log(Real(x))), limit) << x;
  }
  EXPECT_EQ(evaluate("log_f32_v0", 1), 0);
  EXPECT_EQ(evaluate("log_f32_v0", 0), -kInfinite);
  EXPECT_EQ(evaluate("log_f32_v0", -0.0), -kInfinite);
  EXPECT_EQ(evaluate("log_f32_v0", kInfinite), kInfinite);
  EXPECT_TRUE(std::isnan(evaluate("log_f32_v0", -1)));
  EXPECT_TRUE(std::isnan(evaluate("log_f32_v0", -kInfinite)));
  EXPECT_TRUE(std::isnan(evaluate("log_f32_v0", kNaN)));
}

TEST(F8_ElementaryFunctions, SigmoidLinearUnit) {
  Random random(3);
  const double limit = declaredUlp("silu_f32_v0", 4);
  for (int i = 0; i < 20000; ++i) {
    const auto x = static_cast<float>(random.uniform(-85, 100));
    const Real exact = Real(x) / (Real(1.0) + exp(-Real(x)));
    EXPECT_LE(errorInUlp(evaluate("silu_f32_v0", x), exact), limit) << x;
  }
  EXPECT_EQ(evaluate("silu_f32_v0", 0), 0);
  EXPECT_EQ(evaluate("silu_f32_v0", kInfinite), kInfinite);
  EXPECT_TRUE(std::signbit(evaluate("silu_f32_v0", -200))) << "x / infinity keeps the sign of x";
  EXPECT_TRUE(std::isnan(evaluate("silu_f32_v0", -kInfinite))) << "-inf / inf";
}

TEST(F8_ElementaryFunctions, GaussianErrorLinearUnitByTanh) {
  Random random(5);
  const double limit = declaredUlp("gelu_tanh_f32_v0", 0);
  for (int i = 0; i < 20000; ++i) {
    const auto x = static_cast<float>(i % 2 ? random.uniform(-10, 12)
                                            : std::ldexp(random.uniform(-1, 1), -i % 30));
    const Real exact = Real(x) / (Real(1.0) + exp(-geluArgument(Real(x))));
    EXPECT_LE(errorInUlp(evaluate("gelu_tanh_f32_v0", x), exact), limit) << x;
  }
  EXPECT_EQ(evaluate("gelu_tanh_f32_v0", 0), 0);
  EXPECT_EQ(evaluate("gelu_tanh_f32_v0", 20), 20);
  EXPECT_EQ(evaluate("gelu_tanh_f32_v0", 1e30), static_cast<float>(1e30)) << "x^2 overflows";
  EXPECT_EQ(evaluate("gelu_tanh_f32_v0", kInfinite), kInfinite);
  EXPECT_TRUE(std::signbit(evaluate("gelu_tanh_f32_v0", -200))) << "x / infinity keeps the sign";
  EXPECT_TRUE(std::isnan(evaluate("gelu_tanh_f32_v0", -kInfinite))) << "-inf / inf";
  EXPECT_TRUE(std::isnan(evaluate("gelu_tanh_f32_v0", kNaN)));
}

TEST(F8_ElementaryFunctions, HyperbolicTangent) {
  Random random(6);
  const double limit = declaredUlp("tanh_f32_v0", 0);
  for (int i = 0; i < 20000; ++i) {
    const auto x = static_cast<float>(i % 2 ? random.uniform(-10, 10)
                                            : std::ldexp(random.uniform(-1, 1), -i % 30));
    EXPECT_LE(errorInUlp(evaluate("tanh_f32_v0", x), tanh(Real(x))), limit) << x;
  }
  EXPECT_EQ(evaluate("tanh_f32_v0", 0), 0);
  EXPECT_TRUE(std::signbit(evaluate("tanh_f32_v0", -0.0)));
  EXPECT_EQ(evaluate("tanh_f32_v0", 0x1p-149), 0x1p-149);
  EXPECT_EQ(evaluate("tanh_f32_v0", kInfinite), 1);
  EXPECT_EQ(evaluate("tanh_f32_v0", -kInfinite), -1);
  EXPECT_EQ(evaluate("tanh_f32_v0", 1e30), 1) << "e^(2x) overflows";
  EXPECT_TRUE(std::isnan(evaluate("tanh_f32_v0", kNaN)));
}

struct Activation {
  std::string name;
  Real (*exact)(const Real &);
  double low, high; ///< between which half of the arguments are taken
};

const Activation kActivations[] = {
    {"sigmoid_f32_v0", [](const Real &x) { return Real(1.0) / (Real(1.0) + exp(-x)); }, -104, 30},
    {"softplus_f32_v0", [](const Real &x) { return log1p(exp(x)); }, -104, 100},
    {"relu_f32_v0", [](const Real &x) { return x < Real(0.0) ? Real(0.0) : x; }, -9, 9},
    {"relu_squared_f32_v0", [](const Real &x) { return x < Real(0.0) ? Real(0.0) : x * x; }, -9, 9},
    {"gelu_erf_f32_v0", [](const Real &x) { return x / Real(2.0) * erfc(-x / sqrt(Real(2.0))); },
     -14.6, 14.6}};

TEST(F8_ElementaryFunctions, ActivationsAreWithinTheirDeclaredError) {
  Random random(7);
  for (const Activation &activation : kActivations) {
    const double limit = declaredUlp(activation.name, -1);
    for (int i = 0; i < 10000; ++i) {
      const auto x = static_cast<float>(i % 2 ? random.uniform(activation.low, activation.high)
                                              : std::ldexp(random.uniform(-1, 1), -i % 30));
      EXPECT_LE(errorInUlp(evaluate(activation.name, x), activation.exact(Real(x))), limit)
          << activation.name << " at " << x;
    }
    EXPECT_TRUE(std::isnan(evaluate(activation.name, kNaN))) << activation.name;
  }
}

TEST(F8_ElementaryFunctions, ActivationsAtTheEnds) {
  struct Point {
    const char *name;
    double x, y;
  };
  for (const Point &p : {Point{"sigmoid_f32_v0", kInfinite, 1},
                         {"sigmoid_f32_v0", -kInfinite, 0},
                         {"sigmoid_f32_v0", 0, 0.5},
                         {"softplus_f32_v0", kInfinite, kInfinite},
                         {"softplus_f32_v0", -kInfinite, 0},
                         {"relu_f32_v0", -kInfinite, 0},
                         {"relu_f32_v0", kInfinite, kInfinite},
                         {"relu_f32_v0", -0.0, 0},
                         {"relu_f32_v0", 0x1p-149, 0x1p-149},
                         {"relu_squared_f32_v0", -3, 0},
                         {"relu_squared_f32_v0", 1e30, kInfinite},
                         {"gelu_erf_f32_v0", kInfinite, kInfinite},
                         {"gelu_erf_f32_v0", 0, 0},
                         {"gelu_erf_f32_v0", 20, 20},
                         {"gelu_erf_f32_v0", 1e30f, 1e30f}})
    EXPECT_EQ(evaluate(p.name, p.x), p.y) << p.name << " at " << p.x;
  EXPECT_FALSE(std::signbit(evaluate("relu_f32_v0", -0.0)));
  EXPECT_TRUE(std::signbit(evaluate("gelu_erf_f32_v0", -0.0)));
  EXPECT_TRUE(std::signbit(evaluate("gelu_erf_f32_v0", -kInfinite))) << "-0, the limit";
  EXPECT_LT(evaluate("gelu_erf_f32_v0", -14.0f), 0) << "subnormal results are kept";
}

TEST(F8_ElementaryFunctions, SineAndCosine) {
  Random random(4);
  for (int i = 0; i < 20000; ++i) {
    const double a = i % 3 == 0   ? random.uniform(-10, 10)
                     : i % 3 == 1 ? random.uniform(0, 0x1p+30)
                                  : static_cast<double>(random.below(100000)) * 1.5707963267948966;
    const auto values = evaluateAll("sincos_f64_v0", a);
    EXPECT_LE(std::fabs((Real(values.at(0)) - sin(Real(a))).toDouble()), 0x1p-52) << a;
    EXPECT_LE(std::fabs((Real(values.at(1)) - cos(Real(a))).toDouble()), 0x1p-52) << a;
  }
  for (const double a : {kInfinite, -kInfinite, kNaN, 0x1.1p+30})
    for (const double value : evaluateAll("sincos_f64_v0", a))
      EXPECT_TRUE(std::isnan(value)) << a;
}

// Negative control: the measurement sees one wrong digit of a constant.
TEST(F8_ElementaryFunctions, AWrongConstantIsSeen) {
  nlohmann::json altered = Data::get().functions;
  for (auto &function : altered["functions"])
    if (function["name"] == "log_f32_v0")
      function["constants"]["L2"] = "0x1.99a5b6p-3";
  const reference::Function logarithm(altered, "log_f32_v0");
  double worst = 0;
  for (float x = 0.75f; x < 1.4f; x += 0.001f)
    worst = std::max(worst, errorInUlp(logarithm(x), log(Real(x))));
  EXPECT_GT(worst, declaredUlp("log_f32_v0", 2));
}

} // namespace
} // namespace writ::test
