#include "PlainMerges.h"
#include "RecordedCases.h"
#include "Vocabulary.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <limits>

namespace writ::test {
namespace {

constexpr EncodeOptions plain{false, false}, special{false, true};

Ids bytes(std::string_view text) {
  Ids ids;
  for (unsigned char byte : text)
    ids.push_back(3 + byte);
  return ids;
}

class ScoredBpe : public testing::Test {
protected:
  Ids encode(std::string_view text, const EncodeOptions &options = plain) const {
    return tokenizer->encode(text, options);
  }
  const std::unique_ptr<Tokenizer> tokenizer = scoredTokenizer(false),
                                   prefixed = scoredTokenizer(true);
};

TEST_F(ScoredBpe, Cases15_EncodeEqualsTheRecordedIds) {
  const nlohmann::json record = readRecord("scored_ids");
  expectRecordedIds(*tokenizer, record["cases"], 300);
  expectRecordedIds(*prefixed, record["cases_with_space_prefix"], 300);
}

TEST_F(ScoredBpe, MergesTheHighestScoreFirst) {
  EXPECT_EQ(encode("hello"), (Ids{284}));
  // "2 3" scores above "1 2", and "1 23" above both.
  EXPECT_EQ(encode("123"), (Ids{302}));
  EXPECT_EQ(encode("1 23"), (Ids{275, 259, 301}));
  EXPECT_EQ(encode("12 3"), (Ids{300, 259, 277}));
}

TEST_F(ScoredBpe, OfEqualScoresTheLeftmostIsFirst) {
  // "ab" and "bc" score the same, and so do the pairs of a run.
  EXPECT_EQ(encode("bcab"), (Ids{294, 293}));
  TokenizerData data = tokenizer->data();
  data.tokens[295] = "other"; // was "abc", which hides the order
  EXPECT_EQ(makeTokenizer(data, nullptr)->encode("abc", plain), (Ids{293, 269}));
  data.scores[294] = std::nextafter(data.scores[293], 0.0f);
  EXPECT_EQ(makeTokenizer(data, nullptr)->encode("abc", plain), (Ids{267, 294}));
  EXPECT_EQ(encode("aaa"), (Ids{291, 267}));
  EXPECT_EQ(encode("aaaaaaa"), (Ids{292, 291, 267}));
}

TEST_F(ScoredBpe, ATokenThatNoMergeReachesIsNotFound) {
  EXPECT_EQ(encode("worldwide"), (Ids{264, 287, 289, 264, 272, 266, 261}));
}

TEST_F(ScoredBpe, SpacesAreWrittenAsU2581) {
  EXPECT_EQ(encode("hello world"), (Ids{284, 290}));
  EXPECT_EQ(encode(" hello"), (Ids{285}));
  EXPECT_EQ(encode("\u2581hello"), (Ids{285}));
  EXPECT_EQ(encode("hello  "), (Ids{284, 296}));
  EXPECT_EQ(encode("a b"), (Ids{299})); // a merge that reaches over a space
  EXPECT_EQ(encode("\t"), bytes("\t"));
}

TEST_F(ScoredBpe, ASpaceIsPutBeforeATextOnlyWhereTheDataSaySo) {
  EXPECT_EQ(prefixed->encode("hello", plain), (Ids{285}));
  EXPECT_EQ(prefixed->encode(" hello", plain), (Ids{259, 285}));
  EXPECT_EQ(prefixed->encode("", plain), Ids{});
  // And behind each special token that text follows, but not before one.
  EXPECT_EQ(prefixed->encode("</s>hello</s></s>hello<tool>h", special),
            (Ids{2, 285, 2, 2, 285, 311, 259, 260}));
  EXPECT_EQ(encode("</s>hello<tool>h", special), (Ids{2, 284, 311, 260}));
}

TEST_F(ScoredBpe, ACharacterWithoutATokenBecomesItsBytes) {
  EXPECT_EQ(encode("ü"), bytes("ü"));
  EXPECT_EQ(encode(std::string("h\0h", 3)), (Ids{260, 3, 260}));
  EXPECT_EQ(encode("😀😊"), (Ids{3 + 0xF0, 3 + 0x9F, 3 + 0x98, 3 + 0x80, 280}));
}

TEST_F(ScoredBpe, BytesThatAreNotUtf8BecomeTheirTokens) {
  for (std::string_view text : {"\xFF", "\x80\x80", "\xC3", "\xE2\x82", "\xED\xA0\x80",
                                "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80"})
    EXPECT_EQ(encode(text), bytes(text));
  // The first byte says how many belong together; they are not looked at.
  EXPECT_EQ(encode("\xE2"
                   "hello"),
            (Ids{3 + 0xE2, 3 + 'h', 3 + 'e', 282, 263}));
  EXPECT_EQ(encode("\xE2 hello"), (Ids{3 + 0xE2, 3 + 0xE2, 3 + 0x96, 3 + 0x81, 284}));
}

TEST_F(ScoredBpe, ControlTokensAreFoundOnlyWhereAskedFor) {
  EXPECT_EQ(encode("hello</s>", special), (Ids{284, 2}));
  EXPECT_EQ(encode("hello</s>"), (Ids{284, 308, 3 + '/', 273, 309}));
  EXPECT_EQ(encode("<unk>", special), (Ids{0}));
  EXPECT_EQ(encode("<s>x", special), (Ids{1, 310}));
  EXPECT_EQ(encode("<s>x"), (Ids{308, 273, 309, 310}));
}

TEST_F(ScoredBpe, UserDefinedTokensAreFoundInAnyCaseTheLongestFirst) {
  for (EncodeOptions options : {plain, special}) {
    EXPECT_EQ(encode("hello<tool>hello", options), (Ids{284, 311, 284}));
    EXPECT_EQ(encode("<tool><tool><tool>", options), (Ids{312, 311}));
    EXPECT_EQ(encode("a\n\n\nb", options), (Ids{267, 313, 3 + '\n', 268}));
    EXPECT_EQ(encode("a     b", options), (Ids{267, 314, 296, 268}));
  }
}

TEST_F(ScoredBpe, BosAndEosAreAddedAsTheDataSay) {
  EXPECT_EQ(encode("hello", {true, true}), (Ids{1, 284}));
  EXPECT_EQ(encode("", {true, true}), (Ids{1}));
  TokenizerData data = tokenizer->data();
  data.addBos = false, data.addEos = true;
  EXPECT_EQ(makeTokenizer(data, nullptr)->encode("hello", {true, true}), (Ids{284, 2}));
}

TEST_F(ScoredBpe, SegmentsAreOneText) {
  auto segments = [&](std::vector<TextSegment> given) {
    return tokenizer->encodeSegments(given, false);
  };
  EXPECT_EQ(segments({{"hel", true}, {"lo wor", false}, {"ld", true}}), (Ids{284, 290}));
  EXPECT_EQ(segments({{"</", true}, {"s>", false}}), encode("</s>"));
  EXPECT_EQ(segments({{"<to", true}, {"ol>", false}}), (Ids{311}));
}

/// A vocabulary over few characters, so that merges meet, cross and tie; some characters lack a
/// token, some tokens cannot be reached, some hold a space inside.
TokenizerData randomVocabulary(std::mt19937 &random, const std::vector<std::string> &characters) {
  TokenizerData data = readVocabulary("scored");
  data.tokens.resize(259);
  auto add = [&](const std::string &token) {
    if (std::find(data.tokens.begin(), data.tokens.end(), token) == data.tokens.end())
      data.tokens.push_back(token);
  };
  for (const std::string &character : characters)
    if (random() % 4)
      add(character);
  for (int i = 0; i < 60; ++i) {
    std::string token;
    for (uint32_t length = 2 + random() % 4; length > 0; --length)
      token += characters[random() % characters.size()];
    add(token);
  }
  data.types.resize(259);
  data.types.resize(data.tokens.size(), 1);
  data.scores.clear();
  for (size_t i = 0; i < data.tokens.size(); ++i)
    data.scores.push_back(static_cast<float>(random() % 12) - 6);
  data.addSpacePrefix = random() % 2;
  return data;
}

TEST(ScoredBpeRule, EqualsTheRuleStatedPlainlyUnderRandomVocabularies) {
  const std::vector<std::string> characters = {"a", "b", "c", "\u2581", "é", "😊"};
  std::mt19937 random(11);
  size_t merged = 0;
  for (int vocabulary = 0; vocabulary < 60; ++vocabulary) {
    const TokenizerData data = randomVocabulary(random, characters);
    std::string error;
    auto tokenizer = makeTokenizer(data, &error);
    ASSERT_TRUE(tokenizer) << error;
    for (int i = 0; i < 60; ++i) {
      std::string text;
      for (uint32_t length = 1 + random() % 24; length > 0; --length) {
        uint32_t choice = random() % 16;
        text += choice == 0  ? std::string(1, static_cast<char>(random()))
                : choice < 4 ? " "
                             : characters[random() % characters.size()];
      }
      Ids ids = tokenizer->encode(text, plain);
      ASSERT_EQ(ids, mergePlainly(data, text, data.addSpacePrefix)) << vocabulary << ": " << text;
      merged += static_cast<size_t>(
          std::count_if(ids.begin(), ids.end(), [](int32_t id) { return id > 264; }));
    }
  }
  EXPECT_GT(merged, 5000u);
}

/// Else a text could end its turn, or spell a byte.
TEST_F(ScoredBpe, NoMergeMakesAControlUnknownOrByteToken) {
  TokenizerData data = tokenizer->data();
  const std::string parts[] = {"</", "s>", "<unk", "<0x4"};
  for (size_t i = 0; i < std::size(parts); ++i) {
    data.tokens.push_back(parts[i]);
    data.scores.push_back(5);
    data.types.push_back(1);
  }
  auto made = makeTokenizer(data, nullptr);
  EXPECT_EQ(made->encode("</s>", plain), (Ids{317, 318}));
  for (const char *text : {"</s>", "<unk>", "<0x41>", "<s>"})
    EXPECT_EQ(made->decode(made->encode(text, plain), false), text);
  EXPECT_EQ(made->encode("</s>", special), (Ids{2}));
}

TEST_F(ScoredBpe, PiecesFollowTheTokensType) {
  EXPECT_EQ(tokenizer->piece(290, false), " world");
  EXPECT_EQ(tokenizer->piece(299, false), "a b");
  EXPECT_EQ(tokenizer->piece(297, false), "    ");
  EXPECT_EQ(tokenizer->piece(3, false), std::string(1, '\0'));
  EXPECT_EQ(tokenizer->piece(3 + 0xFF, false), "\xFF");
  EXPECT_EQ(tokenizer->piece(1, false), "");
  EXPECT_EQ(tokenizer->piece(1, true), "<s>");
  EXPECT_EQ(tokenizer->piece(0, false), "");
  EXPECT_EQ(tokenizer->piece(312, false), "<tool><tool>");
  EXPECT_EQ(tokenizer->piece(315, true), ""); // unused
  EXPECT_EQ(tokenizer->piece(316, true), "");
  TokenizerData data = tokenizer->data();
  data.tokens[311] = "\u2581x"; // user-defined tokens spell what they are
  EXPECT_EQ(makeTokenizer(data, nullptr)->piece(311, false), "\u2581x");
}

TEST_F(ScoredBpe, DecodeGivesBackEveryText) {
  std::mt19937 random(12);
  for (int i = 0; i < 500; ++i) {
    std::string text = randomText(random, 1 + random() % 30);
    // Two texts do not come back: U+2581, which is a space, and the unused token "nn".
    if (text.find("\u2581") != std::string::npos || text.find("nn") != std::string::npos)
      continue;
    for (EncodeOptions options : {plain, special})
      EXPECT_EQ(tokenizer->decode(tokenizer->encode(text, options), true), text);
    EXPECT_EQ(prefixed->decode(prefixed->encode("." + text, plain), true).substr(0, 2), " .");
  }
}

TEST_F(ScoredBpe, StreamedByteTokensNeverEndInsideACharacter) {
  const std::string text = "ü😀 中文\u0301 hello";
  StreamingDecoder decoder;
  std::string streamed;
  size_t held = 0;
  for (int32_t id : encode(text)) {
    const std::string part = decoder.push(tokenizer->piece(id, false));
    StreamingDecoder whole;
    EXPECT_EQ(whole.push(part), part);
    EXPECT_EQ(whole.finish(), "");
    held += part.empty();
    streamed += part;
  }
  EXPECT_EQ(streamed + decoder.finish(), text);
  EXPECT_EQ(held,
            7u); // bytes that did not end their character: 1 of ü, 3 of 😀, 2 of 文, 1 of U+0301
}

TEST_F(ScoredBpe, NoBytesMakeItFail) {
  std::mt19937 random(13);
  for (int i = 0; i < 2000; ++i) {
    std::string text(1 + random() % 40, '\0');
    for (char &byte : text)
      byte = static_cast<char>(random() % 3 ? 0x80 + random() % 0x80 : random());
    Ids ids = encode(text, special);
    // A broken character takes a space that follows it with it, as U+2581.
    auto spaced = [](std::string bytes) {
      for (size_t at; (at = bytes.find("\u2581")) != std::string::npos;)
        bytes.replace(at, 3, " ");
      return bytes;
    };
    EXPECT_EQ(spaced(tokenizer->decode(ids, true)), spaced(text));
  }
}

TEST_F(ScoredBpe, AMegabyteOfOneCharacterTakesSeconds) {
  for (const char *unit : {"a", " ", "\n", "1", "<", "\xFF", "x", "中", "a "}) {
    std::string text;
    while (text.size() < size_t(1) << 20)
      text += unit;
    std::clock_t start = std::clock();
    EXPECT_FALSE(encode(text, special).empty());
    double seconds = double(std::clock() - start) / CLOCKS_PER_SEC;
    EXPECT_LT(seconds, 20) << unit;
  }
}

std::string makeError(const std::function<void(TokenizerData &)> &change) {
  TokenizerData data = readVocabulary("scored");
  change(data);
  std::string error;
  EXPECT_FALSE(makeTokenizer(data, &error));
  return error;
}

TEST(MakeScoredTokenizer, DataThatBreakARuleAreRefused) {
  const std::pair<std::function<void(TokenizerData &)>, const char *> cases[] = {
      {[](auto &d) { d.scores.clear(); },
       "tokenizer model 'llama' merges by scores, but there are none"},
      {[](auto &d) { d.scores.pop_back(); }, "316 scores for 317 tokens"},
      {[](auto &d) { d.scores[260] = std::numeric_limits<float>::quiet_NaN(); },
       "token 260 has a score that is not finite"},
      {[](auto &d) { d.scores[260] = -std::numeric_limits<float>::infinity(); },
       "token 260 has a score that is not finite"},
      {[](auto &d) { d.tokens[261] = "h"; }, "tokens 260 and 261 have the same text, 'h'"},
      {[](auto &d) { d.tokens[3 + 0xC3] = "other", d.types[3 + 0xC3] = 1; },
       "the vocabulary has no token '<0xC3>'; every byte needs one"},
      {[](auto &d) { d.types[13] = 1; },
       "token 13 ('<0x0A>') has type 1, but stands for a byte (type 6)"},
      {[](auto &d) { d.types.clear(); },
       "token 3 ('<0x00>') has type 1, but stands for a byte (type 6)"},
      {[](auto &d) { d.types[260] = 6; },
       "token 260 ('h') has type 6 (byte), but is not written <0xNN>"},
      {[](auto &d) { d.preTokenizer = "gpt-2"; },
       "tokenizer model 'llama' merges by scores and has no pre-tokenizer"},
      {[](auto &d) { d.merges = {"a b"}; },
       "tokenizer model 'llama' merges by scores and has no list of merges"},
  };
  for (const auto &[change, message] : cases)
    EXPECT_EQ(makeError(change), message);
  // A token of its own stands in for an ASCII character's byte.
  TokenizerData data = readVocabulary("scored");
  data.tokens[3 + 'h'] = "other", data.types[3 + 'h'] = 1;
  EXPECT_EQ(makeTokenizer(data, nullptr)->encode("\xE2h", plain), (Ids{259, 3 + 0xE2, 260}));
}

/// The short form of the fuzzer: documents with bytes changed, cut and repeated.
TEST(MakeScoredTokenizer, MutatedDocumentsAreRefusedOrEncode) {
  const std::string good = readText(WRIT_SOURCE_DIR "/tests/data/tokenizer/scored.json");
  std::mt19937 random(14);
  size_t refused = 0, used = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string document = good;
    for (uint32_t count = 1 + random() % 3; count > 0; --count) {
      size_t at = random() % document.size(), length = random() % 8;
      if (uint32_t kind = random() % 4; kind == 0)
        document.erase(at, length);
      else if (kind == 1)
        document.insert(at, document.substr(random() % document.size(), length));
      else
        document[at] = kind == 2 ? static_cast<char>(random()) : "0123456789-e.,"[random() % 14];
    }
    TokenizerData data;
    std::string error;
    if (!readTokenizerData(document, &data, &error)) {
      ASSERT_NE(error, "");
      ++refused;
      continue;
    }
    auto tokenizer = makeTokenizer(data, &error);
    ASSERT_TRUE(tokenizer || !error.empty());
    if (!tokenizer) {
      ++refused;
      continue;
    }
    ++used;
    const auto size = tokenizer->size();
    for (int32_t id : tokenizer->encode("hello wörld<s>\n\n\n \xFF", special))
      ASSERT_TRUE(id >= 0 && id < size);
  }
  EXPECT_GT(refused, 1000u);
  EXPECT_GT(used, 100u);
}

} // namespace
} // namespace writ::test
