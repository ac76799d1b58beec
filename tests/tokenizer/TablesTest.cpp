//===- TablesTest.cpp - tokenizer.bin ---------------------------------------===//
#include "Vocabulary.h"

#include <algorithm>
#include <cstring>
#include <functional>

namespace writ::test {
namespace {

TokenizerData scoredVocabulary() {
  return readVocabulary("scored");
}

TEST(TokenizerTables, C9_TheyAreAFunctionOfTheVocabulary) {
  EXPECT_EQ(compiled(smallVocabulary()), compiled(smallVocabulary()));
  TokenizerData other = smallVocabulary();
  other.padding = 5;
  EXPECT_NE(compiled(other), compiled(smallVocabulary()));
}

TEST(TokenizerTables, TheVocabularyComesBackExactly) {
  for (TokenizerData data : {smallVocabulary(), scoredVocabulary()}) {
    data.chatTemplate = std::string("a \0 b", 5);
    data.padding = 7;
    data.addEos = true;
    if (!data.merges.empty()) // of a merge that stands there twice, the first counts
      data.merges.push_back(data.merges.front());
    std::string error;
    const auto tokenizer = openTokenizer(compiled(data), &error);
    ASSERT_TRUE(tokenizer) << error;
    EXPECT_EQ(writeTokenizerData(tokenizer->data()), writeTokenizerData(data));
    EXPECT_EQ(tokenizer->size(), int32_t(data.tokens.size()));
    EXPECT_EQ(tokenizer->bos(), data.bos);
    EXPECT_EQ(tokenizer->eos(), data.eos);
    for (int32_t id = -1; id <= tokenizer->size(); ++id)
      EXPECT_EQ(tokenizer->endsGeneration(id),
                std::count(data.endOfGeneration.begin(), data.endOfGeneration.end(), id) > 0);
  }
}

TEST(TokenizerTables, EveryTokenIsFoundAndNothingElse) {
  const TokenizerTables tables = openTables(compiled(smallVocabulary()));
  const TokenizerData data = smallVocabulary();
  for (size_t i = 0; i < data.tokens.size(); ++i) {
    EXPECT_EQ(tables.token(int32_t(i)), data.tokens[i]);
    EXPECT_EQ(tables.find(data.tokens[i]), data.tokens[i].empty() ? -1 : int32_t(i));
    EXPECT_EQ(tables.find(data.tokens[i] + "\n\n"), -1);
  }
  for (size_t i = 0; i < data.merges.size(); ++i) {
    const TablesMerge &merge = tables.merges()[i];
    EXPECT_EQ(tables.rankOf(merge.left, merge.right), int32_t(i));
    EXPECT_EQ(tables.rankOf(merge.result, merge.left), -1);
  }
  EXPECT_EQ(tables.rankOf(-1, 5), -1);
}

/// The error of tables whose header was changed.
std::string errorOf(const std::function<void(TablesHeader &)> &change) {
  std::string bytes = compiled(smallVocabulary()), error;
  TablesHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  change(header);
  std::memcpy(bytes.data(), &header, sizeof header);
  EXPECT_FALSE(openTokenizer(bytes, &error));
  return error;
}

TEST(TokenizerTables, F12_TablesOfAnotherFormAreRefused) {
  const std::string begin = "these are no tables of a tokenizer: ";
  std::string error;
  EXPECT_FALSE(openTokenizer("short", &error));
  EXPECT_EQ(error, begin + "5 bytes are too few");
  const auto section = [](TablesHeader & header, TablesSection which) -> auto & {
    return header.sections[size_t(which)];
  };
  EXPECT_EQ(errorOf([](TablesHeader &h) { h.format[22] = '2'; }),
            begin + "the bytes do not begin with 'writ-tokenizer-tables-1'");
  EXPECT_EQ(errorOf([](TablesHeader &h) { h.bytes = 7; }).find(begin + "there are "), 0u);
  EXPECT_EQ(errorOf([](TablesHeader &h) { h.bos = 286; }), begin + "a special token is 286 of 286");
  EXPECT_EQ(errorOf([](TablesHeader &h) { h.eos = -2; }), begin + "a special token is -2 of 286");
  EXPECT_EQ(errorOf([](TablesHeader &h) { h.bos = -1, h.flags |= addsBosFlag; }),
            begin + "a token is to be added that there is not");
  EXPECT_NE(errorOf([&](TablesHeader &h) {
              section(h, TablesSection::text).offset += 4;
            }).find("does not lie in the"),
            std::string::npos);
  EXPECT_NE(errorOf([&](TablesHeader &h) {
              section(h, TablesSection::text).bytes = UINT64_MAX;
            }).find("does not lie in the"),
            std::string::npos);
  EXPECT_EQ(errorOf([&](TablesHeader &h) { section(h, TablesSection::text).bytes -= 1; }),
            begin + "the tokens' texts do not follow each other");
  EXPECT_EQ(errorOf([&](TablesHeader &h) { section(h, TablesSection::ends).bytes -= 1; }),
            begin + "a section ends inside an element");
  EXPECT_EQ(errorOf([&](TablesHeader &h) { section(h, TablesSection::types).bytes -= 1; }),
            begin + "scores or types are 285 for 286 tokens");
  EXPECT_EQ(errorOf([&](TablesHeader &h) { section(h, TablesSection::slots).bytes -= 4; }),
            begin + "the table of tokens has 1023 entries, which is no power of two");
  EXPECT_NE(errorOf([&](TablesHeader &h) {
              section(h, TablesSection::merges).bytes = 12;
            }).find("the table of merges has an entry for "),
            std::string::npos);
}

/// Whatever the bytes are, they are refused with a reason or can be used without harm.
TEST(TokenizerTables, F12_SpoiltTablesAreRefusedOrHarmless) {
  std::mt19937 random(21);
  size_t refused = 0, used = 0;
  for (const TokenizerData &data : {smallVocabulary(), scoredVocabulary()}) {
    const std::string good = compiled(data);
    for (int run = 0; run < 3000; ++run) {
      std::string bad = good;
      for (uint32_t change = random() % 3 + 1; change-- > 0;) {
        // Half of them in the header, which decides most.
        const size_t at = random() % (random() % 2 ? sizeof(TablesHeader) : bad.size());
        bad[at] = char(random() % 2 ? random() : bad[at] ^ (1 << random() % 8));
      }
      if (random() % 16 == 0)
        bad.resize(random() % bad.size());
      std::string error;
      const auto tokenizer = openTokenizer(bad, &error);
      if (!tokenizer) {
        ASSERT_NE(error, "");
        ++refused;
        continue;
      }
      ++used;
      for (const int32_t id : tokenizer->encode("hello wörld<s> the\n\n \xFF café", {true, true}))
        ASSERT_TRUE(id >= 0 && id < tokenizer->size()) << id;
      for (int32_t id = -1; id <= tokenizer->size(); ++id)
        tokenizer->piece(id, true);
    }
  }
  EXPECT_GT(refused, 500u);
  EXPECT_GT(used, 300u);
}

} // namespace
} // namespace writ::test
