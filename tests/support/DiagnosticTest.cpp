//===- DiagnosticTest.cpp - the shape of what Writ says -------------------===//
#include "compiler/Diagnostics/Diagnostic.h"

#include "compiler/Diagnostics/Codes.h"
#include "compiler/Support/FileIO.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <regex>
#include <set>

namespace writ {
namespace {

TEST(Diagnostic, LocationsPrintWhatIsKnown) {
  EXPECT_EQ(toString(Location{"a.json", 14, 7}), "a.json:14:7");
  EXPECT_EQ(toString(Location{"a.json", 14, 0}), "a.json:14");
  EXPECT_EQ(toString(Location{"a.json"}), "a.json");
  EXPECT_EQ(toString(Location{}), "writ");
}

TEST(Diagnostic, TextHasPositionCodeAndNotes) {
  Diagnostic diagnostic{{"decode.json", 14, 7},
                        "E101",
                        "no kernel provides 'linear'",
                        {{{"q8.json", 2, 3}, "nearest provider differs in weight"},
                         {{}, "add a provider or change the circuit; there is no fallback"}}};
  EXPECT_EQ(toString(diagnostic),
            "decode.json:14:7: error: no kernel provides 'linear' [E101]\n"
            "q8.json:2:3: note: nearest provider differs in weight\n"
            "note: add a provider or change the circuit; there is no fallback\n");
}

TEST(Diagnostic, ControlCharactersOfAUsersTextAreWrittenOut) {
  const std::string name("a\0b\x1b[31m", 8);
  const Error error({"m.gguf"}, "E030", "no circuit fits '" + name + "'",
                    {{{}, "nearest to " + name}});
  EXPECT_STREQ(error.what(), "m.gguf: error: no circuit fits 'a\\x00b\\x1b[31m' [E030]\n"
                             "note: nearest to a\\x00b\\x1b[31m\n");
}

TEST(Diagnostic, AnErrorCarriesAllOfItsDiagnostics) {
  Error error({{{"a", 1, 2}, "E010", "first", {}}, {{"b", 3, 4}, "E011", "second", {}}});
  ASSERT_EQ(error.diagnostics().size(), 2u);
  EXPECT_EQ(error.diagnostics()[1].code, "E011");
  EXPECT_STREQ(error.what(), "a:1:2: error: first [E010]\nb:3:4: error: second [E011]\n");
}

TEST(Diagnostic, CodesAreUniqueWellFormedAndTitled) {
  std::set<std::string_view> ids;
  for (const CodeInfo &code : diagnosticCodes()) {
    EXPECT_TRUE(ids.insert(code.id).second) << code.id;
    EXPECT_EQ(code.id.size(), 4u);
    EXPECT_EQ(code.id[0], 'E');
    EXPECT_EQ(code.id.find_first_not_of("0123456789", 1), std::string_view::npos) << code.id;
    EXPECT_FALSE(code.title.empty());
    EXPECT_EQ(codeTitle(code.id), code.title);
  }
  EXPECT_TRUE(codeTitle("E999").empty());
}

TEST(Diagnostic, EveryCodeThatTheSourcesEmitIsDeclared) {
  const std::regex literal("\"(E[0-9]{3})\"");
  size_t count = 0;
  for (const char *folder : {"/compiler", "/ir"})
    for (const auto &entry :
         std::filesystem::recursive_directory_iterator(WRIT_SOURCE_DIR + std::string(folder))) {
      if (entry.path().extension() != ".cpp")
        continue;
      std::string text = readFile(entry.path().string());
      for (std::sregex_iterator it(text.begin(), text.end(), literal), end; it != end; ++it) {
        EXPECT_FALSE(codeTitle((*it)[1].str()).empty()) << (*it)[1] << " in " << entry.path();
        ++count;
      }
    }
  EXPECT_GT(count, 50u) << "the search finds something";
}

} // namespace
} // namespace writ
