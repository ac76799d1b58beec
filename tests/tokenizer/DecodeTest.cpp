#include "Vocabulary.h"

namespace writ::test {
namespace {

TEST(Decode, GivesBackEveryValidTextUnderEveryPattern) {
  std::mt19937 random(2);
  for (const PreTokenizerSpec &spec : preTokenizers()) {
    auto tokenizer = smallTokenizer(spec.name);
    for (int i = 0; i < 400; ++i) {
      std::string text = randomText(random, random() % 30);
      for (bool parseSpecial : {false, true})
        EXPECT_EQ(tokenizer->decode(tokenizer->encode(text, {false, parseSpecial}), true), text);
    }
  }
}

TEST(Decode, PiecesFollowTheTokensType) {
  auto tokenizer = smallTokenizer();
  EXPECT_EQ(tokenizer->piece(268, false), " world");
  EXPECT_EQ(tokenizer->piece(274, false), "é");
  EXPECT_EQ(tokenizer->piece(byteId(0xFF), false), "\xFF");
  EXPECT_EQ(tokenizer->piece(byteId(0), false), std::string(1, '\0'));
  EXPECT_EQ(tokenizer->piece(1, false), "");
  EXPECT_EQ(tokenizer->piece(1, true), "<|im_start|>");
  EXPECT_EQ(tokenizer->piece(3, false), "");
  EXPECT_EQ(tokenizer->piece(3, true), "<unk>");
  EXPECT_EQ(tokenizer->piece(281, false), "café"); // user-defined: text, not the byte alphabet
  EXPECT_EQ(tokenizer->piece(282, false), "A");    // <0x41>
  EXPECT_EQ(tokenizer->piece(283, true), "");      // unused
  EXPECT_EQ(tokenizer->piece(284, true), "");
}

TEST(Decode, AnIdOutsideTheVocabularyHasNoPiece) {
  auto tokenizer = smallTokenizer();
  for (int32_t id : {-1, 286, INT32_MAX, INT32_MIN})
    EXPECT_EQ(tokenizer->piece(id, true), "");
}

TEST(Decode, EndsOfGenerationAreThoseOfTheData) {
  auto tokenizer = smallTokenizer();
  EXPECT_TRUE(tokenizer->endsGeneration(0));
  EXPECT_FALSE(tokenizer->endsGeneration(1));
  EXPECT_TRUE(tokenizer->endsGeneration(2));
}

/// Pushes `text` cut at `cuts` and checks that nothing ends inside a character.
std::string stream(const std::string &text, const std::vector<size_t> &cuts) {
  StreamingDecoder decoder;
  std::string out;
  size_t begin = 0;
  auto check = [](const std::string &part) {
    StreamingDecoder other;
    EXPECT_EQ(other.push(part), part);
    EXPECT_EQ(other.finish(), "");
    return part;
  };
  for (size_t cut : cuts) {
    out += check(decoder.push(std::string_view(text).substr(begin, cut - begin)));
    begin = cut;
  }
  out += check(decoder.push(std::string_view(text).substr(begin)));
  return out + check(decoder.finish());
}

TEST(StreamingDecoder, EverySplitGivesTheText) {
  const std::string text = "aé€😊\n中👩‍👩‍👧";
  for (size_t first = 0; first <= text.size(); ++first)
    for (size_t second = first; second <= text.size(); ++second)
      EXPECT_EQ(stream(text, {first, second}), text);
}

TEST(StreamingDecoder, EverySplitOfInvalidBytesGivesTheSameText) {
  const std::string r = "\xEF\xBF\xBD";
  // One U+FFFD for each longest part that could have begun a character (Unicode 15, table 3-8 …).
  const std::pair<std::string, std::string> cases[] = {
      {"a\xFFz", "a" + r + "z"},
      {"\x80\x80", r + r},
      {"\xC0\xAFx", r + r + "x"},
      {"\xE2\x82x", r + "x"},
      {"\xF0\x9F\x98", r},
      {"\xF0\x9F\x98\xF0\x9F\x98\x8A", r + "😊"},
      {"\xED\xA0\x80", r + r + r},
      {"\xF4\x90\x80\x80", r + r + r + r},
      {"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", r + r + r + r + "A"}};
  for (const auto &[bytes, text] : cases)
    for (size_t first = 0; first <= bytes.size(); ++first)
      for (size_t second = first; second <= bytes.size(); ++second)
        EXPECT_EQ(stream(bytes, {first, second}), text);
}

TEST(StreamingDecoder, ACharacterComesOutWithItsLastByte) {
  StreamingDecoder decoder;
  EXPECT_EQ(decoder.push("\xF0\x9F\x98"), "");
  EXPECT_EQ(decoder.push("\x8A"), "😊");
  EXPECT_EQ(decoder.push("\xE2\x82"), "");
  EXPECT_EQ(decoder.finish(), "\xEF\xBF\xBD");
  EXPECT_EQ(decoder.finish(), "");
}

} // namespace
} // namespace writ::test
