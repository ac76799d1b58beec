//===- SchemaCheckTest.cpp - JSON Schema violations as diagnostics --------===//
#include "compiler/Support/Json.h"

#include "tests/support/Expect.h"

#include <fmt/format.h>

namespace writ {
namespace {

constexpr const char *schemaText = R"({
"type": "object",
"additionalProperties": false,
"required": ["id", "ops"],
"properties": {
  "id": {"type": "string", "pattern": "^[a-z_]+$"},
  "profile": {"enum": ["portable", "ggml", "tensor_core"]},
  "version": {"const": 1},
  "ops": {"type": "array", "minItems": 1, "items": {"$ref": "#/definitions/op"}},
  "numbers": {"type": "object", "additionalProperties": {"type": "number", "minimum": 0}},
  "names": {"type": "object", "propertyNames": {"enum": ["prefill", "decode"]}}
},
"definitions": {
  "op": {"oneOf": [{"$ref": "#/definitions/linear"}, {"$ref": "#/definitions/norm"}]},
  "linear": {"type": "object", "additionalProperties": false, "required": ["kind", "weight"],
    "properties": {"kind": {"const": "linear"}, "weight": {"type": "string"}, "rows": {"type": "integer"}}},
  "norm": {"type": "object", "additionalProperties": false, "required": ["kind"],
    "properties": {"kind": {"const": "norm"}, "epsilon": {"type": ["number", "string"]}}}
}})";

void check(const char *document) {
  checkSchema(parseJson(document, "c.json"), parseJson(schemaText, "s.json"));
}

TEST(SchemaCheck, C1_AValidDocumentPasses) {
  EXPECT_NO_THROW(check(R"({"id": "llama", "profile": "ggml", "version": 1, "numbers": {"a": 0.5},
    "names": {"decode": 1},
    "ops": [{"kind": "linear", "weight": "w"}, {"kind": "norm", "epsilon": "x"}]})"));
}

TEST(SchemaCheck, C1_UnknownFieldIsAnErrorAtItsKey) {
  EXPECT_DIAGNOSTIC(check("{\"id\": \"a\",\n  \"profil\": \"ggml\",\n"
                          "  \"ops\": [{\"kind\": \"norm\"}]}"),
                    "c.json:2:3: error: unknown field 'profil' [E014]\n"
                    "note: nearest: 'profile'\n");
}

TEST(SchemaCheck, C1_EveryUnknownFieldIsNamed) {
  EXPECT_DIAGNOSTIC(
      check("{\"id\": \"a\", \"x1\": 1, \"ops\": [{\"kind\": \"norm\"}], \"zzzzz\": 2}"),
      "c.json:1:13: error: unknown field 'x1' [E014]\n"
      "note: known fields: 'id', 'profile', 'version', 'ops', 'numbers', 'names'\n"
      "c.json:1:49: error: unknown field 'zzzzz' [E014]\n"
      "note: known fields: 'id', 'profile', 'version', 'ops', 'numbers', 'names'\n");
}

TEST(SchemaCheck, C1_MissingFieldIsAnErrorAtItsObject) {
  EXPECT_DIAGNOSTIC(check("\n {\"id\": \"a\"}"), "c.json:2:2: error: missing field 'ops' [E012]\n"
                                                 "s.json:4:13: note: required here\n");
}

TEST(SchemaCheck, C1_AnUnknownFieldOfTheFormThatIsMeant) {
  // The form is known by its kind: what the other form lacks is not said.
  EXPECT_DIAGNOSTIC(check("{\"id\": \"a\", \"ops\": [\n{\"kind\": \"norm\"},\n"
                          "{\"kind\": \"linear\", \"wieght\": \"w\"}]}"),
                    "c.json:3:1: error: missing field 'weight' [E012]\n"
                    "s.json:15:75: note: required here\n"
                    "c.json:3:20: error: unknown field 'wieght' [E014]\n"
                    "note: nearest: 'weight'\n");
}

TEST(SchemaCheck, E015_AChoiceOfWhichNoFormIsMeant) {
  EXPECT_DIAGNOSTIC(check("{\"id\": \"a\", \"ops\": [{\"kind\": \"attention\"}]}"),
                    "c.json:1:21: error: object of 1 fits none of the 2 forms allowed here [E015]\n"
                    "s.json:14:19: note: the forms: #/definitions/linear, #/definitions/norm\n");
}

TEST(SchemaCheck, E015_TypesSayExpectedAndGot) {
  EXPECT_DIAGNOSTIC(check("{\"id\": 7, \"ops\": [{\"kind\": \"norm\", \"epsilon\": null}]}"),
                    "c.json:1:8: error: expected string, got integer 7 [E015]\n"
                    "s.json:6:18: note: the rule stands here\n"
                    "c.json:1:47: error: expected number or string, got null [E015]\n"
                    "s.json:18:67: note: the rule stands here\n");
}

TEST(SchemaCheck, E015_EnumerationsNameTheNearestWord) {
  EXPECT_DIAGNOSTIC(
      check("{\"id\": \"a\", \"profile\": \"portble\", \"ops\": [{\"kind\": \"norm\"}]}"),
      "c.json:1:24: error: string 'portble' is not one of 'portable', 'ggml', 'tensor_core' "
      "[E015]\n"
      "s.json:7:23: note: the words are declared here; nearest: 'portable'\n");
}

TEST(SchemaCheck, E015_OtherRulesSayTheRuleAndTheValue) {
  EXPECT_DIAGNOSTIC(
      check("{\"id\": \"A B\", \"version\": 2, \"numbers\": {\"a\": -1}, \"ops\": []}"),
      "c.json:1:8: error: string 'A B' must match the pattern \"^[a-z_]+$\" [E015]\n"
      "s.json:6:39: note: the rule stands here\n"
      "c.json:1:26: error: integer 2 must be 1 [E015]\n"
      "s.json:8:24: note: the rule stands here\n"
      "c.json:1:46: error: integer -1 must be at least 0 [E015]\n"
      "s.json:10:87: note: the rule stands here\n"
      "c.json:1:58: error: array of 0 must have at least 1 elements [E015]\n"
      "s.json:9:40: note: the rule stands here\n");
}

TEST(SchemaCheck, C1_PropertyNamesAreCheckedAtTheKey) {
  EXPECT_DIAGNOSTIC(
      check("{\"id\": \"a\", \"ops\": [{\"kind\": \"norm\"}], \"names\": {\"decod\": 1}}"),
      "c.json:1:50: error: unknown field 'decod' [E014]\n"
      "s.json:11:48: note: names are declared here; nearest: 'decode'\n");
}

TEST(SchemaCheck, E015_TheRootMayBeWrongAsAWhole) {
  EXPECT_DIAGNOSTIC(check("[1]"), "c.json:1:1: error: expected object, got array of 1 [E015]\n"
                                  "s.json:2:9: note: the rule stands here\n");
}

TEST(SchemaCheck, E015_ATextThatWouldExhaustTheRegexIsRefused) {
  std::string fits =
      "{\"id\": \"" + std::string(16384, 'a') + "\", \"ops\": [{\"kind\": \"norm\"}]}";
  EXPECT_NO_THROW(check(fits.c_str()));
  std::string tooLong = "{\"id\": \"" + std::string(16385, 'a') + "\"}";
  EXPECT_DIAGNOSTIC(check(tooLong.c_str()),
                    "c.json:1:8: error: string of 16385 bytes is longer than 16384 [E015]\n");
}

TEST(SchemaCheck, E016_ASchemaThatIsNoneIsRefused) {
  Json document = parseJson("{\"a\": \"x\"}", "c.json");
  EXPECT_DIAGNOSTIC(checkSchema(document, parseJson(R"({"type": "objekt"})", "s.json")),
                    "s.json:1:1: error: not a usable schema: Unrecognised JSON type name 'objekt' "
                    "[E016]\n");
  std::string text = test::errorOf([&] {
    checkSchema(document, parseJson(R"({"properties": {"a": {"pattern": "("}}})", "s.json"));
  });
  EXPECT_TRUE(text.starts_with("s.json:1:1: error: not a usable schema: ")) << text;
}

// Schemas are kept compiled: of many that are asked in turns each has its own answer.
TEST(SchemaCheck, E015_SchemasThatAreAskedInTurnsAreNotMistaken) {
  const Json document = parseJson("{\"a\": \"5\"}", "c.json");
  for (int turn = 0; turn < 2; ++turn)
    for (int most = 0; most < 20; ++most) {
      const Json schema = parseJson(
          fmt::format("{{\"properties\": {{\"a\": {{\"pattern\": \"^[0-{}]$\"}}}}}}", most % 10),
          fmt::format("s{}.json", most));
      if (most % 10 >= 5)
        EXPECT_NO_THROW(checkSchema(document, schema)) << most;
      else // at the place of this schema, not of the one with the same text that was kept
        EXPECT_DIAGNOSTIC(checkSchema(document, schema),
                          fmt::format("c.json:1:7: error: string '5' must match the pattern "
                                      "\"^[0-{0}]$\" [E015]\ns{1}.json:1:34: note: the rule stands "
                                      "here\n",
                                      most % 10, most)
                              .c_str());
    }
}

} // namespace
} // namespace writ
