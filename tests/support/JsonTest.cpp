//===- JsonTest.cpp - JSON values that know where they stand --------------===//
#include "compiler/Support/Json.h"

#include "tests/support/Expect.h"

namespace writ {
namespace {

Json parse(std::string_view text) {
  return parseJson(text, "c.json");
}

std::string at(const Json &value) {
  return std::to_string(value.location().line) + ":" + std::to_string(value.location().column);
}

TEST(Json, C1_EveryValueAndKeyKnowsItsPlace) {
  Json root =
      parse("{\n  \"a\" : 1,\n  \"b\":[true, null ,-2.5e3,\"x\",\n{}],\n\"c\": { \"d\"\n:[]}}");
  EXPECT_EQ(at(root), "1:1");
  EXPECT_EQ(root.members()[0].keyLocation, (Location{"c.json", 2, 3}));
  EXPECT_EQ(at(root.at("a")), "2:9");
  const Json &b = root.at("b");
  EXPECT_EQ(at(b), "3:7");
  EXPECT_EQ(at(b.elements()[0]), "3:8");
  EXPECT_EQ(at(b.elements()[1]), "3:14");
  EXPECT_EQ(at(b.elements()[2]), "3:20");
  EXPECT_EQ(at(b.elements()[3]), "3:27");
  EXPECT_EQ(at(b.elements()[4]), "4:1");
  EXPECT_EQ(root.members()[2].keyLocation, (Location{"c.json", 5, 1}));
  EXPECT_EQ(root.at("c").members()[0].keyLocation, (Location{"c.json", 5, 8}));
  EXPECT_EQ(at(root.at("c").at("d")), "6:2");
}

TEST(Json, ScalarsAtTheRootHavePlacesToo) {
  EXPECT_EQ(at(parse(" 17")), "1:2");
  EXPECT_EQ(at(parse("\n17 ")), "2:1");
  EXPECT_EQ(at(parse("\"x\"")), "1:1");
  EXPECT_EQ(at(parse("  false\n")), "1:3");
}

TEST(Json, ColumnsCountCodePoints) {
  Json root = parse("[\"é😀\", 1, \"\\u00e9\\\"\", 2]");
  EXPECT_EQ(at(root.elements()[1]), "1:8");
  EXPECT_EQ(at(root.elements()[3]), "1:23");
  EXPECT_EQ(root.elements()[2].asString(), "é\"");
}

TEST(Json, AByteOrderMarkTakesNoColumn) {
  EXPECT_EQ(at(parse("\xef\xbb\xbf{}")), "1:1");
  EXPECT_EQ(at(parse("\xef\xbb\xbf[1]").elements()[0]), "1:2");
}

TEST(Json, MembersKeepTheOrderOfTheFile) {
  Json root = parse(R"({"z": 1, "a": 2, "m": 3})");
  ASSERT_EQ(root.members().size(), 3u);
  EXPECT_EQ(root.members()[0].key, "z");
  EXPECT_EQ(root.members()[2].key, "m");
}

TEST(Json, NumbersKeepTheirKind) {
  Json root = parse("[1, -0, 1.0, 1e2, 9223372036854775807, -9223372036854775808]");
  EXPECT_TRUE(root.elements()[0].isInteger());
  EXPECT_EQ(root.elements()[1].asInteger(), 0);
  EXPECT_FALSE(root.elements()[2].isInteger());
  EXPECT_TRUE(root.elements()[2].isNumber());
  EXPECT_EQ(root.elements()[3].asNumber(), 100);
  EXPECT_EQ(root.elements()[4].asInteger(), INT64_MAX);
  EXPECT_EQ(root.elements()[5].asInteger(), INT64_MIN);
  EXPECT_EQ(root.elements()[0].asNumber(), 1.0);
}

TEST(Json, PlainHasTheSameValue) {
  const char *text = R"({"a": [1, 2.5, "x", null, true], "b": {}})";
  EXPECT_EQ(parse(text).plain(), nlohmann::json::parse(text));
}

TEST(Json, C1_DuplicateKeyIsAnError) {
  EXPECT_DIAGNOSTIC(parse("{\"a\": 1,\n \"b\": {\"a\": 2},\n \"a\": 3}"),
                    "c.json:3:2: error: key 'a' occurs twice in this object [E011]\n"
                    "c.json:1:2: note: the first one is here\n");
  // The same key by another spelling, deep inside.
  EXPECT_DIAGNOSTIC(parse("[{\"x\": {\"ab\": 1, \"a\\u0062\": 2}}]"),
                    "c.json:1:18: error: key 'ab' occurs twice in this object [E011]\n"
                    "c.json:1:9: note: the first one is here\n");
}

TEST(Json, E010_SyntaxErrorsStandWhereTheTextGoesWrong) {
  EXPECT_DIAGNOSTIC(
      parse("{\"a\": 1,\n}"),
      "c.json:2:1: error: not JSON: syntax error while parsing object key - unexpected "
      "'}'; expected string literal [E010]\n");
  EXPECT_DIAGNOSTIC(parse("{\"a\" \"b\"}"),
                    "c.json:1:6: error: not JSON: syntax error while parsing object separator - "
                    "unexpected string literal; expected ':' [E010]\n");
  EXPECT_DIAGNOSTIC(
      parse("[1,,2]"),
      "c.json:1:4: error: not JSON: syntax error while parsing value - unexpected ','; "
      "expected '[', '{', or a literal [E010]\n");
  EXPECT_DIAGNOSTIC(parse("[1 22]"),
                    "c.json:1:4: error: not JSON: syntax error while parsing array - unexpected "
                    "number literal; expected ']' [E010]\n");
  EXPECT_DIAGNOSTIC(parse("[1, tru]"),
                    "c.json:1:8: error: not JSON: syntax error while parsing value - invalid "
                    "literal [E010]\n");
  EXPECT_DIAGNOSTIC(parse("{} x"),
                    "c.json:1:4: error: not JSON: syntax error while parsing value - invalid "
                    "literal [E010]\n");
}

TEST(Json, E010_ATextThatEndsEarlyIsRefusedAtItsEnd) {
  EXPECT_DIAGNOSTIC(parse(""), "c.json:1:1: error: not JSON: syntax error while parsing value - "
                               "unexpected end of input; expected '[', '{', or a literal [E010]\n");
  EXPECT_DIAGNOSTIC(parse("[1,\n 2"),
                    "c.json:2:3: error: not JSON: syntax error while parsing array - "
                    "unexpected end of input; expected ']' [E010]\n");
}

TEST(Json, E010_InvalidUtf8IsRefused) {
  EXPECT_DIAGNOSTIC(
      parse("[\"a\xff\"]"),
      "c.json:1:4: error: not JSON: syntax error while parsing value - invalid string: "
      "ill-formed UTF-8 byte [E010]\n");
}

TEST(Json, E010_NumbersThatDoNotFitAreRefused) {
  EXPECT_DIAGNOSTIC(
      parse("[9223372036854775808]"),
      "c.json:1:2: error: integer 9223372036854775808 is outside of [-2^63, 2^63 - 1] "
      "[E010]\n");
  EXPECT_DIAGNOSTIC(parse("[-99999999999999999999]"),
                    "c.json:1:2: error: integer -99999999999999999999 is outside of [-2^63, 2^63 - "
                    "1] [E010]\n");
  EXPECT_DIAGNOSTIC(parse("[1, 1e999]"),
                    "c.json:1:5: error: not JSON: number overflow parsing '1e999' [E010]\n");
}

TEST(Json, E010_DepthIsLimited) {
  std::string fits = std::string(128, '[') + std::string(128, ']');
  EXPECT_EQ(parse(fits).kind(), Json::Kind::array);
  std::string deep = std::string(1000000, '[');
  EXPECT_DIAGNOSTIC(parse(deep), "c.json:1:129: error: nested deeper than 128 levels [E010]\n");
}

TEST(Json, E013_AccessorsSayWhatTheyGot) {
  Json root = parse(R"({"a": [3, "some text", {"x": 1}, null, true, 1.5]})");
  const auto &a = root.at("a").elements();
  EXPECT_DIAGNOSTIC(a[0].asString(), "c.json:1:8: error: expected string, got integer 3 [E013]\n");
  EXPECT_DIAGNOSTIC(a[1].asInteger(),
                    "c.json:1:11: error: expected integer, got string 'some text' [E013]\n");
  EXPECT_DIAGNOSTIC(a[2].elements(),
                    "c.json:1:24: error: expected array, got object of 1 [E013]\n");
  EXPECT_DIAGNOSTIC(a[3].asNumber(), "c.json:1:34: error: expected number, got null [E013]\n");
  EXPECT_DIAGNOSTIC(a[4].members(),
                    "c.json:1:40: error: expected object, got boolean true [E013]\n");
  EXPECT_DIAGNOSTIC(a[5].asBool(), "c.json:1:46: error: expected boolean, got number 1.5 [E013]\n");
}

TEST(Json, E012_AtNamesTheMissingField) {
  Json root = parse("\n  {\"a\": 1}");
  EXPECT_EQ(root.find("b"), nullptr);
  EXPECT_TRUE(root.contains("a"));
  EXPECT_DIAGNOSTIC(root.at("b"), "c.json:2:3: error: missing field 'b' [E012]\n");
}

TEST(Json, E001_AFileThatIsNotThere) {
  EXPECT_DIAGNOSTIC(
      readJsonFile("no/such.json"),
      "no/such.json: error: cannot read the file: No such file or directory [E001]\n");
}

} // namespace
} // namespace writ
