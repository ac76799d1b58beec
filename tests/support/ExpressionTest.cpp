//===- ExpressionTest.cpp - arithmetic in circuits ------------------------===//
#include "compiler/Support/Expression.h"

#include "tests/support/Expect.h"

#include <limits>

namespace writ {
namespace {

std::optional<Value> lookup(std::string_view name) {
  if (name == "width")
    return int64_t{576};
  if (name == "llama.attention.head_count")
    return int64_t{9};
  if (name == "zero")
    return int64_t{0};
  if (name == "base")
    return 10000.0;
  if (name == "most")
    return std::numeric_limits<int64_t>::max();
  return std::nullopt;
}

Value evaluate(const std::string &text) {
  return evaluateExpression(parseJson(nlohmann::json(text).dump(), "c.json"), lookup);
}
int64_t integer(const std::string &text) {
  return std::get<int64_t>(evaluate(text));
}
double real(const std::string &text) {
  return std::get<double>(evaluate(text));
}

TEST(Expression, NumbersOfTheJsonAreThemselves) {
  EXPECT_EQ(std::get<int64_t>(evaluateExpression(parseJson("3", "c.json"), lookup)), 3);
  EXPECT_EQ(std::get<double>(evaluateExpression(parseJson("0.5", "c.json"), lookup)), 0.5);
}

TEST(Expression, Arithmetic) {
  EXPECT_EQ(integer("1 + 2 * 3"), 7);
  EXPECT_EQ(integer("(1 + 2) * 3"), 9);
  EXPECT_EQ(integer("10 - 3 - 2"), 5);
  EXPECT_EQ(integer("width / llama.attention.head_count"), 64);
  EXPECT_EQ(integer("7 % 4"), 3);
  EXPECT_EQ(integer("-2 * -(3)"), 6);
  EXPECT_EQ(integer("- - 5"), 5);
  EXPECT_EQ(real("1.5 * 2"), 3.0);
  EXPECT_EQ(real("base / 4"), 2500.0);
  EXPECT_EQ(real("1e-3"), 1e-3);
  EXPECT_EQ(real("-0.5"), -0.5);
}

TEST(Expression, ComparisonsAndLogic) {
  EXPECT_EQ(integer("1 < 2"), 1);
  EXPECT_EQ(integer("2 <= 1"), 0);
  EXPECT_EQ(integer("width == 576 && zero != 1"), 1);
  EXPECT_EQ(integer("1 > 2 || 3 >= 3"), 1);
  EXPECT_EQ(integer("!zero"), 1);
  EXPECT_EQ(integer("!!width"), 1);
  EXPECT_EQ(integer("1 == 1.0"), 1);
  EXPECT_EQ(integer("zero ? 1 : width > 500 ? 2 : 3"), 2);
}

TEST(Expression, OnlyTheBranchThatIsTakenIsComputed) {
  EXPECT_EQ(integer("zero != 0 ? width / zero : 1"), 1);
  EXPECT_EQ(integer("zero != 0 && width / zero > 1"), 0);
  EXPECT_EQ(integer("zero == 0 || width / zero > 1"), 1);
  // Its names are looked up all the same: a slip does not hide there.
  EXPECT_DIAGNOSTIC(evaluate("zero ? heads : 1"),
                    "c.json:1:1: error: unknown name 'heads' at column 8 of 'zero ? heads : 1' "
                    "[E037]\n");
}

TEST(Expression, E036_WhatCannotBeRead) {
  EXPECT_DIAGNOSTIC(evaluate(""), "c.json:1:1: error: expected a value at column 1 of '' [E036]\n");
  EXPECT_DIAGNOSTIC(evaluate("1 + "),
                    "c.json:1:1: error: expected a value at column 5 of '1 + ' [E036]\n");
  EXPECT_DIAGNOSTIC(evaluate("(1"), "c.json:1:1: error: expected ')' at column 3 of '(1' [E036]\n");
  EXPECT_DIAGNOSTIC(evaluate("1 2"),
                    "c.json:1:1: error: unexpected '2' at column 3 of '1 2' [E036]\n");
  EXPECT_DIAGNOSTIC(evaluate("2 = 2"),
                    "c.json:1:1: error: unexpected '= 2' at column 3 of '2 = 2' [E036]\n");
  EXPECT_DIAGNOSTIC(evaluate("1 ? 2"),
                    "c.json:1:1: error: expected ':' at column 6 of '1 ? 2' [E036]\n");
  EXPECT_DIAGNOSTIC(evaluate("3x"),
                    "c.json:1:1: error: unexpected 'x' at column 2 of '3x' [E036]\n");
  EXPECT_DIAGNOSTIC(
      evaluate("!= 1"),
      "c.json:1:1: error: expected a value, got '!= 1' at column 1 of '!= 1' [E036]\n");
  EXPECT_DIAGNOSTIC(evaluate("é"),
                    "c.json:1:1: error: expected a value, got 'é' at column 1 of 'é' [E036]\n");
}

TEST(Expression, E036_DepthIsLimited) {
  EXPECT_EQ(integer(std::string(63, '(') + "1" + std::string(63, ')')), 1);
  std::string deep(100000, '(');
  EXPECT_TRUE(test::errorOf([&] {
                evaluate(deep);
              }).starts_with("c.json:1:1: error: nested deeper than 64 levels at column 65 of"));
  std::string chain = "1";
  for (int i = 0; i < 100; ++i)
    chain = "0 ? 0 : " + chain;
  EXPECT_TRUE(test::errorOf([&] { evaluate(chain); }).find("[E036]") != std::string::npos);
  EXPECT_EQ(integer(std::string(100000, '-') + "1"), 1) << "signs take no depth";
}

TEST(Expression, E037_UnknownNames) {
  EXPECT_DIAGNOSTIC(evaluate("width + hieght"),
                    "c.json:1:1: error: unknown name 'hieght' at column 9 of 'width + hieght' "
                    "[E037]\n");
}

TEST(Expression, E038_DivisionsAreExact) {
  EXPECT_DIAGNOSTIC(evaluate("width / 7"), "c.json:1:1: error: 576 / 7 leaves a remainder of 2 at "
                                           "column 7 of 'width / 7' [E038]\n");
  EXPECT_DIAGNOSTIC(evaluate("1 / zero"),
                    "c.json:1:1: error: division of 1 by zero at column 3 of '1 / zero' [E038]\n");
  EXPECT_DIAGNOSTIC(evaluate("1 % 0"),
                    "c.json:1:1: error: division of 1 by zero at column 3 of '1 % 0' [E038]\n");
  EXPECT_DIAGNOSTIC(evaluate("base / 0"),
                    "c.json:1:1: error: division of 10000 by zero at column 6 "
                    "of 'base / 0' [E038]\n");
}

TEST(Expression, E039_NothingOverflows) {
  EXPECT_DIAGNOSTIC(evaluate("most + 1"),
                    "c.json:1:1: error: 9223372036854775807 + 1 overflows 64 bits at column 6 of "
                    "'most + 1' [E039]\n");
  EXPECT_DIAGNOSTIC(evaluate("most * 2"),
                    "c.json:1:1: error: 9223372036854775807 * 2 overflows 64 bits at column 6 of "
                    "'most * 2' [E039]\n");
  EXPECT_DIAGNOSTIC(
      evaluate("(-most - 1) / -1"),
      "c.json:1:1: error: -9223372036854775808 / -1 overflows 64 bits at column 13 of "
      "'(-most - 1) / -1' [E039]\n");
  EXPECT_DIAGNOSTIC(evaluate("-(-most - 1)"),
                    "c.json:1:1: error: 0 - -9223372036854775808 overflows 64 bits at column 1 of "
                    "'-(-most - 1)' [E039]\n");
  EXPECT_DIAGNOSTIC(evaluate("99999999999999999999"),
                    "c.json:1:1: error: number 99999999999999999999 is out of range at column 1 of "
                    "'99999999999999999999' [E039]\n");
  EXPECT_DIAGNOSTIC(evaluate("1e308 * 10"),
                    "c.json:1:1: error: 1e+308 * 10 is not finite at column 7 "
                    "of '1e308 * 10' [E039]\n");
}

TEST(Expression, E039_KindsDoNotMixSilently) {
  EXPECT_DIAGNOSTIC(evaluate("1.5 % 2"), "c.json:1:1: error: '%' takes integers, got 1.5 and 2 at "
                                         "column 5 of '1.5 % 2' [E039]\n");
  EXPECT_DIAGNOSTIC(evaluate("-1 % 2"), "c.json:1:1: error: '%' takes no negative integers, got -1 "
                                        "and 2 at column 4 of '-1 % 2' [E039]\n");
  EXPECT_DIAGNOSTIC(evaluate("1.5 ? 1 : 2"),
                    "c.json:1:1: error: number 1.5 is no condition at column 1 of '1.5 ? 1 : 2' "
                    "[E039]\n");
  EXPECT_DIAGNOSTIC(evaluate("most + 0.5"),
                    "c.json:1:1: error: integer 9223372036854775807 is no exact double at column 6 "
                    "of 'most + 0.5' [E039]\n");
  EXPECT_DIAGNOSTIC(evaluateInteger(parseJson("\"width / 2.0\"", "c.json"), lookup),
                    "c.json:1:1: error: expected an integer, got 288 [E039]\n");
  EXPECT_EQ(evaluateNumber(parseJson("\"width / 2\"", "c.json"), lookup), 288.0);
}

TEST(Expression, E013_OtherJsonIsRefusedAtItsPlace) {
  EXPECT_DIAGNOSTIC(evaluateExpression(parseJson("[[]]", "c.json").elements()[0], lookup),
                    "c.json:1:2: error: expected number or expression, got array of 0 [E013]\n");
}

} // namespace
} // namespace writ
