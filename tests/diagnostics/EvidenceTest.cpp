// A record counts only where it is whole, speaks of what is asked, and binds what is there now.
#include "compiler/Resolve/Evidence.h"
#include "compiler/Support/Digest.h"
#include "tests/diagnostics/DataTree.h"

#include <fmt/format.h>
#include <set>

using namespace writ;
using writ::test::DataTree;

namespace {

constexpr const char *kPath = "contracts/evidence/contract/some_contract.json";
const std::string kSchema = "contracts/schema/evidence.json";
const std::string kThen(64, 'a'), kNow(64, 'b');
const std::string kMeasured = R"("measured": {"oracle": "known answers", "tests": ["some"]})";

/// What a validated record of a kind says at least.
nlohmann::json measuredOf(const std::string &kind) {
  return nlohmann::json::parse(R"({
    "circuit": {"instantiated": [{}], "refuses": {"a key": "E031"}},
    "contract": {"oracle": "MPFR", "bound": "0", "worst_error_over_bound": 0.5, "shapes": ["k=1"],
                 "fills": ["plain"], "inputs": 1, "elements": 1},
    "provider": {"oracle": "f", "functions": {"a": "b"}, "compiler": "c", "flags": {"scalar": ""},
                 "fills": ["plain"], "shapes": ["rows=1"], "elements": 7, "failed": 0,
                 "isa": {"scalar": {"cases": 1, "elements": 7, "threads": [1]}}},
    "stitched": {"models": [{}], "walk": [{}], "inputs_traced": 1,
                 "ops": {"c": {"p": {"calls": 1, "elements": 2, "differences": 0}}}},
    "end_to_end": {"model": "m", "oracle": {"name": "o"}, "tokens": 5, "nmse": 0.5, "kv": {"rows": 1},
                   "bounds": [{"bound": "b", "kept": true}],
                   "logits_sha256": {"t": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"}}
  })")
      .at(kind);
}

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
        "}},\n \"kind\": \"contract\",\n {},\n \"schema\": "
        "\"writ.evidence.v1\",\n \"subject\": \"{}\",\n \"verdict\": \"{}\"\n}}\n",
        kNow, kNow, kMeasured, subject, verdict);
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
  for (const auto &[from, to] :
       {std::pair("\"reference\": \"b", "\"reference\": \"c"),
        std::pair("\"failed\"", "\"validated\""), std::pair("\"some\"", "\"another\"")}) {
    const bool isVerdict = std::string(from) == "\"failed\"";
    writeSealed(record("some_contract", isVerdict ? "failed" : "validated"));
    tree.replace(kPath, from, to);
    EXPECT_EQ(fault(), refusal("it was edited after it was made")) << from;
  }
}

// Numbers are sealed by their value: the scripts write them in Python's way.
TEST_F(Evidence, C7_TheSealIsOfTheValueAndNotOfItsText) {
  writeSealed(record());
  tree.replace(kPath, "\"oracle\"", "\"a\": 1e-07, \"b\": 2.0, \"c\": [1.5], \"oracle\"");
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
  writeSealed(replaced(record(), " " + kMeasured + ",\n", ""));
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

// A seal is no secret: what calls itself a pass must at least say what was measured, and that it
// held.
TEST_F(Evidence, C7_APassSaysWhatWasMeasuredAndNothingAgainstIt) {
  const std::string refused = refusal("its record cannot be read");
  writeSealed(replaced(record(), kMeasured, "\"because\": \"a case failed\", " + kMeasured));
  EXPECT_EQ(fault(), refused + kPath + ":" + tree.position(kPath, "\"because\"") +
                         ": error: unknown field 'because' [E014]\nnote: known fields: 'schema', "
                         "'kind', 'subject', 'verdict', 'bound', 'sha256', 'measured'\n");
  writeSealed(replaced(record(), kMeasured, "\"measured\": {}"));
  EXPECT_NE(fault().find(std::string(kPath) + ":" + tree.position(kPath, "{}") +
                         ": error: missing field 'oracle' [E012]\n"),
            std::string::npos)
      << fault();
  writeSealed(replaced(record("some_contract", "failed"), kMeasured, "\"measured\": {}"));
  EXPECT_EQ(fault(), refusal("its verdict is 'failed'")); // a failure may have measured nothing
}

TEST_F(Evidence, C7_APassOfEachKindHoldsWhatItSays) {
  const auto textOf = [](const char *kind) { return "\"measured\": " + measuredOf(kind).dump(); };
  struct Forgery {
    const char *kind, *from, *to;
  };
  const Forgery forgeries[] = {{"provider", R"("failed":0)", R"("failed":7)"},
                               {"provider", R"("elements":7,"failed")", R"("elements":0,"failed")"},
                               {"provider", R"({"scalar":{)", R"({"avx2":{},"scalar":{)"},
                               {"provider", R"([1])", R"([])"},
                               {"stitched", R"("differences":0)", R"("differences":1)"},
                               {"stitched", R"("models":[{}])", R"("models":[])"},
                               {"end_to_end", "true", "false"},
                               {"end_to_end", R"("kv")", R"("kw")"},
                               {"circuit", R"("E031")", R"("")"},
                               {"contract", "0.5", "1.5"},
                               {"contract", R"("elements":1)", R"("elements":0)"},
                               {"contract", R"("worst_error_over_bound")", R"("worst")"}};
  for (const Forgery &forgery : forgeries) {
    need.kind = forgery.kind;
    const std::string path = fmt::format("contracts/evidence/{}/some_contract.json", need.kind);
    std::filesystem::create_directories(tree.path("contracts/evidence/" + need.kind));
    const auto write = [&](const std::string &measured) {
      const std::string kind = "\"kind\": \"" + need.kind + "\"";
      writeSealed(
          replaced(replaced(record(), kMeasured, measured), "\"kind\": \"contract\"", kind));
      if (path != kPath)
        std::filesystem::rename(tree.path(kPath), tree.path(path));
    };
    write(textOf(forgery.kind));
    EXPECT_EQ(fault(), "") << forgery.kind;
    write(replaced(textOf(forgery.kind), forgery.from, forgery.to));
    EXPECT_TRUE(fault().find("[E015]") != std::string::npos ||
                fault().find("[E012]") != std::string::npos)
        << forgery.kind << ": " << forgery.to << "\n"
        << fault();
  }
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
    for (const char *key :
         {"functions", "vocabulary", "reference", "inputs:provider", "pool", "packing"})
      expected.push_back(key);
    EXPECT_EQ(each.bound, expected);
  }
  EXPECT_EQ(providers, catalog.kernelMaps().size());
}

// The words of a contract mean what functions, vocabulary and reference say: with others, what was
// measured of whole models is of another model.
TEST_F(Evidence, C7_WholeModelsAreBoundToTheMeaningOfTheWords) {
  const Catalog catalog = tree.load();
  const auto &[circuit, json] = *catalog.circuits().begin();
  const auto &[id, map] = *catalog.kernelMaps().begin();
  EvidenceSubject subject{circuit, "portable", {"f32"}, {}, {{map.contracts.front(), id, {}}}};
  std::map<std::string, std::vector<std::string>> bound;
  for (const EvidenceNeed &each : evidenceNeeds(catalog, subject))
    bound[each.kind] = each.bound;
  const std::vector<std::string> whole = {"circuit:" + circuit, "profile:portable",
                                          "contract:" + map.contracts.front()};
  const auto with = [&](std::initializer_list<std::string> more) {
    std::vector<std::string> keys = whole;
    keys.insert(keys.end(), more);
    return keys;
  };
  EXPECT_EQ(bound["stitched"], with({"source:" + id, "functions", "vocabulary", "reference",
                                     "inputs:stitched", "pool", "packing"}));
  EXPECT_EQ(bound["end_to_end"],
            with({"functions", "vocabulary", "reference", "inputs:end_to_end"}));
}

// Whatever a record has to bind: another digest of it makes the record stale, and one that is not
// bound is missed.
TEST_F(Evidence, C7_EveryKeyOfEveryKindDemotesItsRecord) {
  const Catalog catalog = tree.load();
  EvidenceSubject subject{catalog.circuits().begin()->first, "portable", {"f32"}, {}, {}};
  for (const auto &[id, map] : catalog.kernelMaps())
    subject.decisions.push_back({map.contracts.front(), id, {}});
  std::set<std::string> kinds;
  for (const EvidenceNeed &each : evidenceNeeds(catalog, subject)) {
    kinds.insert(each.kind);
    nlohmann::json record = {{"schema", "writ.evidence.v1"},
                             {"kind", each.kind},
                             {"subject", each.subject},
                             {"verdict", "validated"},
                             {"measured", measuredOf(each.kind)}};
    const auto faultWith = [&](const std::string &key, const char *digest) {
      CurrentDigests now;
      for (const std::string &bound : each.bound) {
        now[bound] = kNow;
        if (bound != key || *digest)
          record["bound"][bound] = bound == key ? digest : kNow;
        else
          record["bound"].erase(bound);
      }
      record.erase("sha256");
      record["sha256"] = sha256Json(record);
      const std::string path =
          fmt::format("contracts/evidence/{}/{}.json", each.kind, each.subject);
      std::filesystem::create_directories(tree.path("contracts/evidence/" + each.kind));
      tree.write(path, record.dump(1));
      return evidenceFault(catalog, each, now);
    };
    ASSERT_EQ(faultWith("", ""), "") << each.kind;
    for (const std::string &key : each.bound) {
      EXPECT_EQ(
          faultWith(key, kThen.c_str()),
          fmt::format("it is stale: it binds '{}' at aaaaaaaaaaaa, which is bbbbbbbbbbbb now", key))
          << each.kind;
      if (each.bound.size() > 1) { // one that binds nothing is refused by the schema
        EXPECT_EQ(faultWith(key, ""), fmt::format("it does not bind '{}'", key)) << each.kind;
      }
    }
  }
  EXPECT_EQ(kinds,
            std::set<std::string>({"circuit", "contract", "end_to_end", "provider", "stitched"}));
}

} // namespace
