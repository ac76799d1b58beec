// A record counts only where it is whole, speaks of what is asked, and binds what is there now.
#include "compiler/Resolve/Evidence.h"
#include "compiler/Support/Digest.h"
#include "tests/diagnostics/DataTree.h"

#include <fmt/format.h>

using namespace writ;
using writ::test::DataTree;

namespace {

constexpr const char *kPath = "contracts/evidence/contract/some_contract.json";
const std::string kSchema = "contracts/schema/evidence.json";
const std::string kThen(64, 'a'), kNow(64, 'b');

/// Asks for the record of one contract that binds one source and the reference.
class Evidence : public testing::Test {
protected:
  Evidence() { std::filesystem::create_directories(tree.path("contracts/evidence/contract")); }

  /// Writes a record, sealed where it is a JSON object as the tool that makes records seals it.
  void write(const std::string &text) const { tree.write(kPath, text); }
  void writeSealed(const std::string &text) const {
    nlohmann::ordered_json record = nlohmann::ordered_json::parse(text);
    record["sha256"] = sha256Json(nlohmann::json::parse(text));
    write(record.dump(1));
  }
  std::string record(const std::string &subject = "some_contract",
                     const std::string &verdict = "validated") const {
    return fmt::format(
        "{{\n \"bound\": {{\n  \"reference\": \"{}\",\n  \"source:kernel\": \"{}\"\n "
        "}},\n \"kind\": \"contract\",\n \"measured\": {{}},\n \"schema\": "
        "\"writ.evidence.v1\",\n \"subject\": \"{}\",\n \"verdict\": \"{}\"\n}}\n",
        kNow, kNow, subject, verdict);
  }
  /// All that production says, "" where the record counts.
  std::string fault() const {
    const Catalog catalog = tree.load();
    try {
      requireEvidence(catalog, {need}, current);
      return "";
    } catch (const Error &error) {
      return tree.relative(error.what());
    }
  }
  static std::string replaced(std::string text, const std::string &from, const std::string &to) {
    return text.replace(text.find(from), from.size(), to);
  }
  static std::string refusal(const std::string &why) {
    return "circuit.json:2:9: error: contract 'some_contract' is not validated: " + why +
           " [E103]\n" + kPath +
           ": note: the evidence record lies here\n"
           "note: 'make evidence' makes the records; --bringup compiles without them, not for "
           "production\n";
  }

  DataTree tree;
  EvidenceNeed need{
      "contract", "some_contract", {"reference", "source:kernel"}, {"circuit.json", 2, 9}};
  CurrentDigests current{{"reference", kNow}, {"source:kernel", kNow}};
};

TEST_F(Evidence, C7_ACurrentRecordCounts) {
  writeSealed(record());
  EXPECT_EQ(fault(), "");
}

TEST_F(Evidence, C7_AMissingRecordIsNoPass) {
  EXPECT_EQ(fault(), refusal("there is no record"));
}

TEST_F(Evidence, C7_AStaleSourceDemotesTheProvider) {
  writeSealed(record());
  current["source:kernel"] = kThen;
  EXPECT_EQ(fault(), refusal("it is stale: it binds 'source:kernel' at bbbbbbbbbbbb, which is "
                             "aaaaaaaaaaaa now"));
}

TEST_F(Evidence, C7_ARecordEditedByHandIsNone) {
  for (const auto &[from, to] : {std::pair("\"reference\": \"b", "\"reference\": \"c"),
                                 std::pair("\"failed\"", "\"validated\""),
                                 std::pair("\"measured\": {}", "\"measured\": { \"error\": 0 }")}) {
    const bool isVerdict = std::string(from) == "\"failed\"";
    writeSealed(record("some_contract", isVerdict ? "failed" : "validated"));
    tree.replace(kPath, from, to);
    EXPECT_EQ(fault(), refusal("it was edited after it was made")) << from;
  }
}

// Numbers are sealed by their value: the scripts write them in Python's way.
TEST_F(Evidence, C7_TheSealIsOfTheValueAndNotOfItsText) {
  writeSealed(record());
  tree.replace(kPath, "\"measured\": {}",
               "\"measured\": { \"a\": 1e-07, \"b\": 2.0, \"c\": [1.5] }");
  nlohmann::json rest = nlohmann::json::parse(tree.read(kPath));
  const std::string before = rest["sha256"];
  rest.erase("sha256");
  tree.replace(kPath, before, sha256Json(rest));
  EXPECT_EQ(fault(), "");
  tree.replace(kPath, "1e-07", "0.0000001");
  tree.replace(kPath, "2.0", "2");
  EXPECT_EQ(fault(), "");
}

TEST_F(Evidence, C7_ADigestThatHasChangedIsStale) {
  writeSealed(record());
  current["reference"] = kThen;
  EXPECT_EQ(
      fault(),
      refusal("it is stale: it binds 'reference' at bbbbbbbbbbbb, which is aaaaaaaaaaaa now"));
}

TEST_F(Evidence, C7_ARecordThatBindsLessDoesNotCount) {
  writeSealed(replaced(record(), "\"source:kernel\"", "\"source:other\""));
  EXPECT_EQ(fault(), refusal("it does not bind 'source:kernel'"));
}

TEST_F(Evidence, C7_ARecordOfWhatIsGoneIsStale) {
  writeSealed(record());
  current.erase("source:kernel");
  EXPECT_EQ(fault(), refusal("it is stale: there is no 'source:kernel' any more"));
}

TEST_F(Evidence, C7_ARecordOfAnotherSubjectDoesNotCount) {
  writeSealed(record("another_contract"));
  EXPECT_EQ(fault(), refusal("the record speaks of contract 'another_contract'"));
}

TEST_F(Evidence, C7_ARecordOfAnotherKindDoesNotCount) {
  writeSealed(replaced(record(), "\"kind\": \"contract\"", "\"kind\": \"provider\""));
  EXPECT_EQ(fault(), refusal("the record speaks of provider 'some_contract'"));
}

TEST_F(Evidence, C7_OnlyValidatedIsAPass) {
  for (const char *verdict : {"unresolved", "failed"}) {
    writeSealed(record("some_contract", verdict));
    EXPECT_EQ(fault(), refusal(fmt::format("its verdict is '{}'", verdict)));
  }
}

TEST_F(Evidence, C7_AMalformedRecordIsRefusedAtItsPlace) {
  const std::string refused = refusal("its record cannot be read");
  writeSealed(record("some_contract", "passed"));
  EXPECT_EQ(fault(), refused + kPath + ":" + tree.position(kPath, "\"passed\"") +
                         ": error: string 'passed' is not one of 'validated', 'failed', "
                         "'unresolved' [E015]\n" +
                         kSchema + ":" + tree.position(kSchema, "[\"validated\"") +
                         ": note: the words are declared here\n");
  writeSealed(record());
  tree.replace(kPath, kNow + "\",\n  \"source", "b\",\n  \"source");
  EXPECT_NE(fault().find("E015"), std::string::npos) << fault();
  writeSealed(record());
  tree.replace(kPath, " \"measured\": {},\n", "");
  EXPECT_EQ(fault(), refused + kPath + ":1:1: error: missing field 'measured' [E012]\n" + kSchema +
                         ":" + tree.position(kSchema, "[\"schema\", \"kind\"") +
                         ": note: required here\n");
  writeSealed(record());
  tree.replace(kPath, "\"measured\"", "\"measurd\"");
  EXPECT_NE(fault().find("[E014]"), std::string::npos) << fault();
  writeSealed(record());
  tree.replace(kPath, "\"verdict\":", "\"verdict\": \"validated\", \"verdict\":");
  EXPECT_NE(fault().find("[E011]"), std::string::npos) << fault();
  write("not JSON");
  EXPECT_NE(fault().find("[E010]"), std::string::npos) << fault();
}

// What production asks for: every contract and provider of the catalog binds what decides it.
TEST_F(Evidence, C7_AProviderIsBoundToContractSourceAndOracle) {
  const Catalog catalog = tree.load();
  size_t providers = 0;
  for (const EvidenceNeed &each : catalogNeeds(catalog)) {
    if (each.kind == "contract") { // whether a provider keeps it or not
      EXPECT_EQ(each.bound,
                (std::vector<std::string>{"contract:" + each.subject, "functions", "vocabulary",
                                          "reference", "oracle", "inputs:contract"}));
    }
    if (each.kind != "provider")
      continue;
    ++providers;
    std::vector<std::string> expected = {"map:" + each.subject, "source:" + each.subject,
                                         "flags:" + each.subject};
    for (const std::string &contract : catalog.kernelMaps().at(each.subject).contracts)
      expected.push_back("contract:" + contract);
    for (const char *key : {"functions", "vocabulary", "reference", "inputs:provider"})
      expected.push_back(key);
    EXPECT_EQ(each.bound, expected);
  }
  EXPECT_EQ(providers, catalog.kernelMaps().size());
}

} // namespace
