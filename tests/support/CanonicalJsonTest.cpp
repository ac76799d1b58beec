//===- CanonicalJsonTest.cpp - RFC 8785 -----------------------------------===//
#include "compiler/Support/Json.h"

#include "tests/support/Expect.h"

#include <bit>
#include <cstdint>
#include <limits>

namespace writ {
namespace {

std::string canonical(const char *text) {
  return canonicalJson(nlohmann::json::parse(text));
}

TEST(CanonicalJson, KeysAreSortedByUtf16CodeUnits) {
  // RFC 8785, section 3.2.3. As UTF-8 bytes, U+FB33 would come before the emoji.
  EXPECT_EQ(canonical(R"({"\u20ac": "Euro Sign", "\r": "Carriage Return",
      "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One", "\ud83d\ude00": "Emoji: Grinning Face",
      "\u0080": "Control", "\u00f6": "Latin Small Letter O With Diaeresis"})"),
            "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\","
            "\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\","
            "\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}");
}

TEST(CanonicalJson, StringsAreEscapedAsLittleAsPossible) {
  // RFC 8785, section 3.2.2.
  EXPECT_EQ(canonical(R"({"string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/\u007f"})"),
            "{\"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\x7f\"}");
}

TEST(CanonicalJson, LiteralsAndNesting) {
  EXPECT_EQ(
      canonical(R"({"literals": [null, true, false], "empty": {}, "a": [], "n": [[1], {"b": 2}]})"),
      R"({"a":[],"empty":{},"literals":[null,true,false],"n":[[1],{"b":2}]})");
}

TEST(CanonicalJson, NumbersAreThoseOfEcmaScript) {
  // RFC 8785, appendix B: the bits of a binary64 and its text.
  const std::pair<uint64_t, const char *> samples[] = {
      {0x0000000000000000, "0"},
      {0x8000000000000000, "0"},
      {0x0000000000000001, "5e-324"},
      {0x8000000000000001, "-5e-324"},
      {0x7fefffffffffffff, "1.7976931348623157e+308"},
      {0xffefffffffffffff, "-1.7976931348623157e+308"},
      {0x4340000000000000, "9007199254740992"},
      {0xc340000000000000, "-9007199254740992"},
      {0x4430000000000000, "295147905179352830000"},
      {0x44b52d02c7e14af5, "9.999999999999997e+22"},
      {0x44b52d02c7e14af6, "1e+23"},
      {0x44b52d02c7e14af7, "1.0000000000000001e+23"},
      {0x444b1ae4d6e2ef4e, "999999999999999700000"},
      {0x444b1ae4d6e2ef4f, "999999999999999900000"},
      {0x444b1ae4d6e2ef50, "1e+21"},
      {0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
      {0x3eb0c6f7a0b5ed8d, "0.000001"},
      {0x41b3de4355555553, "333333333.3333332"},
      {0x41b3de4355555554, "333333333.33333325"},
      {0x41b3de4355555555, "333333333.3333333"},
      {0x41b3de4355555556, "333333333.3333334"},
      {0x41b3de4355555557, "333333333.33333343"},
      {0xbecbf647612f3696, "-0.0000033333333333333333"},
      {0x43143ff3c1cb0959, "1424953923781206.2"}};
  for (const auto &[bits, text] : samples)
    EXPECT_EQ(canonicalJson(std::bit_cast<double>(bits)), text);
  EXPECT_EQ(canonical("1.0"), "1");
  EXPECT_EQ(canonical("-12"), "-12");
  EXPECT_EQ(canonical("0.5"), "0.5");
}

TEST(CanonicalJson, E017_WhatTheRfcCannotWriteIsRefused) {
  EXPECT_DIAGNOSTIC(canonicalJson(std::numeric_limits<double>::quiet_NaN()),
                    "writ: error: number nan is not finite, which canonical JSON (RFC 8785) cannot "
                    "write [E017]\n");
  EXPECT_DIAGNOSTIC(canonicalJson((uint64_t{1} << 53) + 1),
                    "writ: error: integer 9007199254740993 is beyond 2^53, which canonical JSON "
                    "(RFC 8785) cannot write [E017]\n");
  EXPECT_DIAGNOSTIC(
      canonicalJson(std::numeric_limits<int64_t>::min()),
      "writ: error: integer -9223372036854775808 is beyond 2^53, which canonical JSON "
      "(RFC 8785) cannot write [E017]\n");
  EXPECT_DIAGNOSTIC(canonicalJson("a\xff"),
                    "writ: error: string 'a\\xff' is not UTF-8, which canonical JSON (RFC 8785) "
                    "cannot write [E017]\n");
  EXPECT_EQ(canonicalJson(uint64_t{1} << 53), "9007199254740992");
}

} // namespace
} // namespace writ
