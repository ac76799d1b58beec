#include "Vocabulary.h"

namespace writ::test {
namespace {

constexpr EncodeOptions plain{false, false}, special{false, true};

TEST(Encode, MergesByRankAndThenFromTheLeft) {
  auto tokenizer = smallTokenizer();
  EXPECT_EQ(tokenizer->encode("hello world", plain), (Ids{263, 268}));
  EXPECT_EQ(tokenizer->encode("aaa", plain), (Ids{269, byteId('a')}));
  EXPECT_EQ(tokenizer->encode("aaaaaaa", plain), (Ids{270, 269, byteId('a')}));
  // "b c" has a lower rank than "a b", so that "ab c" is never reached.
  EXPECT_EQ(tokenizer->encode("abc", plain), (Ids{byteId('a'), 276}));
}

TEST(Encode, MergesStayInsideAPiece) {
  // gpt-2 keeps digits together, smollm cuts them apart first.
  EXPECT_EQ(smallTokenizer("gpt-2")->encode("12", plain), (Ids{271}));
  EXPECT_EQ(smallTokenizer("smollm")->encode("12", plain), byteIds("12"));
}

TEST(Encode, WholeWordsComeBeforeMergesOnlyWhereThePatternSaysSo) {
  EXPECT_EQ(smallTokenizer("llama-bpe")->encode("worldwide", plain), (Ids{285}));
  EXPECT_EQ(smallTokenizer("gpt-2")->encode("worldwide", plain),
            (Ids{byteId('w'), 265, 267, byteId('w'), byteId('i'), byteId('d'), byteId('e')}));
}

TEST(Encode, TheEmptyTextHasNoIds) {
  EXPECT_EQ(smallTokenizer()->encode("", {true, true}), Ids{});
}

TEST(Encode, BosAndEosAreAddedAsTheDataSay) {
  TokenizerData data = smallVocabulary();
  data.addBos = data.addEos = true;
  auto tokenizer = makeTokenizer(data, nullptr);
  EXPECT_EQ(tokenizer->encode("hello", {true, true}), (Ids{1, 263, 2}));
  EXPECT_EQ(tokenizer->encode("", {true, true}), (Ids{1, 2}));
  EXPECT_EQ(tokenizer->encode("hello", {false, true}), (Ids{263}));
}

TEST(Encode, ControlTokensAreFoundOnlyWhereAskedFor) {
  auto tokenizer = smallTokenizer();
  EXPECT_EQ(tokenizer->encode("<|im_start|>hello<|im_end|>", special), (Ids{1, 263, 2}));
  EXPECT_EQ(tokenizer->encode("<unk>", special), (Ids{3}));
  EXPECT_EQ(tokenizer->encode("<|im_end|>", plain), byteIds("<|im_end|>"));
  EXPECT_EQ(tokenizer->encode("<unk>", plain), byteIds("<unk>"));
  EXPECT_EQ(tokenizer->encode("<|im_end|", special), byteIds("<|im_end|"));
}

TEST(Encode, UserDefinedTokensAreFoundInAnyCase) {
  auto tokenizer = smallTokenizer();
  for (EncodeOptions options : {plain, special}) {
    EXPECT_EQ(tokenizer->encode("hello<tool>café", options), (Ids{263, 279, 281}));
    // The longest first: three in a row are one double and one single.
    EXPECT_EQ(tokenizer->encode("<tool><tool><tool>", options), (Ids{280, 279}));
  }
}

TEST(Encode, ControlTokensAreNotFoundAcrossPlainSegments) {
  auto tokenizer = smallTokenizer();
  auto encode = [&](std::vector<TextSegment> segments) {
    return tokenizer->encodeSegments(segments, false);
  };
  EXPECT_EQ(encode({{"<|im_", true}, {"end|>", true}}), (Ids{2}));
  EXPECT_EQ(encode({{"<|im_", true}, {"", false}, {"end|>", true}}), byteIds("<|im_end|>"));
  EXPECT_EQ(encode({{"<|im_", true}, {"end|>", false}}), byteIds("<|im_end|>"));
  EXPECT_EQ(encode({{"<|im_", false}, {"end|>", true}}), byteIds("<|im_end|>"));
  EXPECT_EQ(encode({{"<to", true}, {"ol>", false}}), (Ids{279}));
  // Segments are one text to the merges and patterns.
  EXPECT_EQ(encode({{"hel", true}, {"lo wor", false}, {"ld", true}}), (Ids{263, 268}));
}

TEST(Encode, BytesThatAreNotUtf8AreReadAsTheReplacementCharacter) {
  auto tokenizer = smallTokenizer();
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(tokenizer->encode("\xFF", plain), byteIds(bad));
  EXPECT_EQ(tokenizer->encode("\x80x", plain), byteIds(bad + "x"));
  EXPECT_EQ(tokenizer->encode("\xE2\x82", plain), byteIds(bad + bad));
  EXPECT_EQ(tokenizer->encode("\xF4\x90\x80\x80", plain), byteIds(bad + bad + bad + bad));
  // As llama.cpp reads them: a surrogate keeps its bytes, an overlong form is what it spells.
  EXPECT_EQ(tokenizer->encode("\xED\xA0\x80", plain), byteIds("\xED\xA0\x80"));
  EXPECT_EQ(tokenizer->encode("\xC1\x81", plain), byteIds("A"));
}

TEST(Encode, AnOverlongFormDoesNotSpellAControlToken) {
  Ids ids = smallTokenizer()->encode("\xC0\xBC|im_end|>", special);
  EXPECT_EQ(ids, byteIds("<|im_end|>"));
}

TEST(Encode, NoBytesMakeItFail) {
  std::mt19937 random(1);
  for (const PreTokenizerSpec &spec : preTokenizers()) {
    auto tokenizer = smallTokenizer(spec.name);
    for (int i = 0; i < 500; ++i) {
      std::string bytes(random() % 40, '\0');
      for (char &byte : bytes)
        byte = static_cast<char>(random() % 3 ? 0x80 + random() % 0x80 : random());
      Ids ids = tokenizer->encode(bytes, special);
      EXPECT_EQ(ids.empty(), bytes.empty());
      for (int32_t id : ids)
        EXPECT_LT(id, tokenizer->size());
    }
  }
}

TEST(Encode, ABytesTokenThatIsMissingGivesNoId) {
  TokenizerData data = smallVocabulary();
  data.tokens[static_cast<size_t>(byteId('q'))] = "not a byte";
  auto tokenizer = makeTokenizer(data, nullptr);
  EXPECT_EQ(tokenizer->encode("xqx", plain), byteIds("xx"));
}

TEST(Encode, AMegabyteOfOneCharacterTakesSeconds) {
  auto tokenizer = smallTokenizer("llama-bpe");
  for (const char *unit : {"a", " ", "\n", "1", "<", "\xFF"}) {
    std::string text(size_t(1) << 20, *unit);
    std::clock_t start = std::clock();
    EXPECT_FALSE(tokenizer->encode(text, special).empty());
    double seconds = double(std::clock() - start) / CLOCKS_PER_SEC;
    EXPECT_LT(seconds, 20) << "0x" << std::hex << int(static_cast<unsigned char>(*unit));
  }
}

} // namespace
} // namespace writ::test
