#include "runtime/src/tokenizer/PreTokenizer.h"
#include "Vocabulary.h"

namespace writ::test {
namespace {

std::vector<std::string> pieces(const char *name, const std::string &text) {
  std::string error;
  auto preTokenizer = PreTokenizer::make(*findPreTokenizer(name), &error);
  EXPECT_TRUE(preTokenizer) << error;
  std::vector<std::string> out;
  preTokenizer->split(
      text, [&](size_t begin, size_t end) { out.push_back(text.substr(begin, end - begin)); });
  return out;
}

using Pieces = std::vector<std::string>;

TEST(PreTokenizer, EachPatternCutsAsItsModelWasTrained) {
  const std::string text = "I'LL pay 1234.5\n\n  don't";
  EXPECT_EQ(pieces("gpt-2", text),
            (Pieces{"I", "'", "LL", " pay", " 1234", ".", "5", "\n\n ", " don", "'t"}));
  EXPECT_EQ(pieces("smollm", text), (Pieces{"I", "'", "LL", " pay", " ", "1", "2", "3", "4", ".",
                                            "5", "\n\n ", " don", "'t"}));
  EXPECT_EQ(pieces("llama-bpe", text),
            (Pieces{"I", "'LL", " pay", " ", "123", "4", ".", "5", "\n\n", " ", " don", "'t"}));
  EXPECT_EQ(pieces("qwen2", text), (Pieces{"I", "'LL", " pay", " ", "1", "2", "3", "4", ".", "5",
                                           "\n\n", " ", " don", "'t"}));
}

TEST(PreTokenizer, ALookAheadSeesNoFurtherThanThePiece) {
  // The digit is cut out first, so that both spaces end their piece and stay together.
  EXPECT_EQ(pieces("smollm", "  1"), (Pieces{"  ", "1"}));
  EXPECT_EQ(pieces("gpt-2", "  1"), (Pieces{" ", " 1"}));
}

TEST(PreTokenizer, PiecesCoverTheTextUnderEveryPattern) {
  std::mt19937 random(3);
  for (const PreTokenizerSpec &spec : preTokenizers())
    for (int i = 0; i < 300; ++i) {
      std::string text = randomText(random, random() % 30), joined;
      for (const std::string &piece : pieces(spec.name.c_str(), text)) {
        EXPECT_FALSE(piece.empty());
        joined += piece;
      }
      EXPECT_EQ(joined, text);
    }
}

/// FNV-1a of "FIRST-LAST," for each run of code points that `characterClass` matches.
uint64_t digestOfRuns(const std::string &characterClass) {
  std::string text, error;
  std::vector<uint32_t> at; // code point by byte offset of its first byte
  for (uint32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xD800 && c < 0xE000)
      continue;
    at.resize(text.size());
    at.push_back(c);
    appendUtf8(text, c);
  }
  at.resize(text.size());
  auto preTokenizer = PreTokenizer::make({"runs", {characterClass + "+"}}, &error);
  EXPECT_TRUE(preTokenizer) << error;
  uint64_t digest = 0xcbf29ce484222325;
  bool inside = false; // U+0000 is in none of the classes, so that pieces alternate from outside
  preTokenizer->split(text, [&](size_t begin, size_t end) {
    if (inside) {
      size_t last = end - 1;
      while ((text[last] & 0xC0) == 0x80)
        --last;
      char run[32];
      std::snprintf(run, sizeof run, "%X-%X,", at[begin], at[last]);
      for (const char *c = run; *c; ++c)
        digest = (digest ^ static_cast<unsigned char>(*c)) * 0x100000001b3;
    }
    inside = !inside;
  });
  return digest;
}

// Whatever version of PCRE2 is installed. The digests were computed from Python 3.13's unicodedata
// (Unicode 15.1.0): 136726 letters, 1831 numbers, 25 characters of White_Space.
TEST(PreTokenizer, ClassesOfCharactersAreThoseOfUnicode15_1) {
  EXPECT_EQ(digestOfRuns("\\p{L}"), 0xe33a329c4692b0ee);
  EXPECT_EQ(digestOfRuns("\\p{N}"), 0xc80496957da234e8);
  EXPECT_EQ(digestOfRuns("\\s"), 0xa5c33c3230f2f860);
}

TEST(PreTokenizer, APatternThatDoesNotCompileIsRefused) {
  std::string error;
  EXPECT_FALSE(PreTokenizer::make({"broken", {"a", "(b"}}, &error));
  EXPECT_EQ(error, "pattern '(b' of pre-tokenizer 'broken' does not compile at offset 2: missing "
                   "closing parenthesis");
}

} // namespace
} // namespace writ::test
