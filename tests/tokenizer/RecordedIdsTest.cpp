//===- RecordedIdsTest.cpp - the real model's ids against those of llama.cpp ===//
//
// tests/data/tokenizer/MODEL.json holds what llama.cpp gave, with its provenance. The model file is
// where scripts/fetch-model puts it; scripts/models.json names it.
//
//===----------------------------------------------------------------------===//
#include "RecordedCases.h"
#include "compiler/Import/ReadTokenizer.h"

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace writ::test {
namespace {

/// A known model's tokenizer, opened once for all tests of one fixture; absent where the file is.
struct Opened {
  explicit Opened(const std::string &name) {
    const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
    std::string base = cache && *cache ? cache : std::string(home ? home : "") + "/.cache";
    auto models = nlohmann::json::parse(readText(WRIT_SOURCE_DIR "/scripts/models.json"));
    path = base + "/writ/models/" + models[name]["file"].get<std::string>();
    if (!std::filesystem::exists(path))
      return;
    file = openModelFile(path);
    std::string error;
    tokenizer = makeTokenizer(readTokenizer(*file), &error);
    EXPECT_TRUE(tokenizer) << error;
  }

  std::string path;
  std::unique_ptr<ModelFile> file;
  std::unique_ptr<Tokenizer> tokenizer;
};

template <const char *name> class RealModel : public testing::Test {
protected:
  static void SetUpTestSuite() { opened = std::make_unique<Opened>(name); }
  static void TearDownTestSuite() { opened.reset(); }
  void SetUp() override {
    if (!opened->file)
      GTEST_SKIP() << "no model file " << opened->path << "; run scripts/fetch-model " << name;
    tokenizer = opened->tokenizer.get();
    file = opened->file.get();
    ASSERT_TRUE(tokenizer);
  }

  static nlohmann::json recorded() { return readRecord(name); }

  static inline std::unique_ptr<Opened> opened;
  const Tokenizer *tokenizer = nullptr;
  const ModelFile *file = nullptr;
};

constexpr char smollm2[] = "smollm2", gemma3[] = "gemma3";
using SmolLM2 = RealModel<smollm2>;
using Gemma3 = RealModel<gemma3>;

TEST_F(SmolLM2, Cases15_EncodeEqualsTheRecordedIds) {
  expectRecordedIds(*tokenizer, recorded()["cases"], 300);
}

TEST_F(Gemma3, Cases15_EncodeEqualsTheRecordedIds) {
  expectRecordedIds(*tokenizer, recorded()["cases"], 300);
}

TEST_F(SmolLM2, TheRecordIsOfThisModel) {
  EXPECT_EQ(recorded()["provenance"]["model_sha256"], file->sha256());
}

TEST_F(Gemma3, TheRecordIsOfThisModel) {
  EXPECT_EQ(recorded()["provenance"]["model_sha256"], file->sha256());
}

TEST_F(Gemma3, DecodeGivesBackTheRecordedTexts) {
  const nlohmann::json record = recorded();
  for (const auto &each : record["cases"]) {
    std::string text = recordedText(each);
    // U+2581 is a space; a broken character takes a space behind it along as U+2581.
    if (text.find("\u2581") != std::string::npos ||
        (!each["text"].is_string() && text.find(' ') != std::string::npos))
      continue;
    // Added by encode: BOS.
    EXPECT_EQ(tokenizer->decode(each["ids"].get<Ids>(), true), "<bos>" + text);
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text, {true, false}), false), text);
  }
}

TEST_F(Gemma3, StreamedPiecesNeverEndInsideACharacter) {
  const nlohmann::json record = recorded();
  for (const auto &each : record["cases"]) {
    StreamingDecoder decoder;
    std::string whole, streamed;
    for (int32_t id : each["ids"].get<Ids>()) {
      const std::string piece = tokenizer->piece(id, true), part = decoder.push(piece);
      StreamingDecoder fresh;
      EXPECT_EQ(fresh.push(part), part);
      EXPECT_EQ(fresh.finish(), "");
      whole += piece;
      streamed += part;
    }
    streamed += decoder.finish();
    if (each["text"].is_string()) {
      EXPECT_EQ(streamed, whole);
    }
  }
}

TEST_F(Gemma3, ItsMetadataAreRead) {
  const TokenizerData data = tokenizer->data();
  EXPECT_EQ(data.model, "llama");
  EXPECT_EQ(data.preTokenizer, "");
  EXPECT_EQ(data.tokens.size(), 262144u);
  EXPECT_EQ(data.scores.size(), 262144u);
  EXPECT_TRUE(data.merges.empty());
  EXPECT_EQ(std::tie(data.bos, data.eos, data.unknown, data.padding), std::tuple(2, 1, 3, 0));
  EXPECT_TRUE(data.addBos);
  EXPECT_FALSE(data.addEos);
  EXPECT_FALSE(data.addSpacePrefix);
  // <eos>, <end_of_turn>, </s>, as llama.cpp's llama_vocab_is_eog.
  EXPECT_EQ(data.endOfGeneration, (Ids{1, 106, 212}));
}

TEST_F(Gemma3, ItsPackageFileComesBackExactly) {
  TokenizerData back;
  std::string error;
  ASSERT_TRUE(readTokenizerData(writeTokenizerData(tokenizer->data()), &back, &error)) << error;
  EXPECT_EQ(back.tokens, tokenizer->data().tokens);
  EXPECT_EQ(back.scores, tokenizer->data().scores);
  EXPECT_EQ(back.types, tokenizer->data().types);
}

TEST_F(Gemma3, LongTextsTakeTimeInProportion) {
  auto seconds = [&](const std::string &unit, size_t size) {
    std::string text;
    while (text.size() < size)
      text += unit;
    std::clock_t start = std::clock();
    EXPECT_FALSE(tokenizer->encode(text, {true, true}).empty());
    return double(std::clock() - start) / CLOCKS_PER_SEC;
  };
  for (const char *unit :
       {"The quick brown fox jumps over the lazy dog. ", "a", " ", "\n", "今天天气很好"}) {
    const double small = seconds(unit, size_t(1) << 17), large = seconds(unit, size_t(1) << 20);
    RecordProperty("seconds_per_mib", std::to_string(large));
    EXPECT_LT(large, 0.5 + 8 * 6 * small) << unit;
    EXPECT_LT(large, 20) << unit;
  }
}

TEST_F(SmolLM2, DecodeGivesBackTheRecordedTexts) {
  // The vocabulary lacks the tokens of these bytes, so that they have no ids (llama.cpp as well).
  const std::string lacking("\x04\x06\x13\x14\x16\x1D\xF1\xF2", 8);
  const nlohmann::json record = recorded();
  for (const auto &each : record["cases"]) {
    if (!each["text"].is_string())
      continue;
    std::string text = each["text"];
    std::erase_if(text, [&](char byte) { return lacking.find(byte) != std::string::npos; });
    EXPECT_EQ(tokenizer->decode(each["ids"].get<Ids>(), true), text);
  }
}

TEST_F(SmolLM2, ChatContentIsEncodedAsTheWholeTextWhereItHasNoControlTokens) {
  ChatTemplate chat;
  std::string error;
  ASSERT_TRUE(parseChatTemplate(
      nlohmann::json::parse(readText(WRIT_SOURCE_DIR "/circuits/chat/chatml_smollm2.json")), &chat,
      &error))
      << error;
  size_t count = 0;
  const nlohmann::json record = recorded();
  for (const auto &each : record["cases"]) {
    std::string text = recordedText(each), whole;
    Ids ids = each["ids"];
    if (std::any_of(ids.begin(), ids.end(), [](int32_t id) { return id <= 16; }))
      continue;
    ++count;
    std::vector<TextSegment> segments;
    const ChatTurn turns[] = {{"user", text}};
    ASSERT_TRUE(renderChat(chat, std::nullopt, turns, &segments, &error)) << error;
    for (const TextSegment &segment : segments)
      whole += segment.text;
    EXPECT_EQ(tokenizer->encodeSegments(segments, false), tokenizer->encode(whole, {true, true}));
  }
  EXPECT_GE(count, 200u);
}

TEST_F(SmolLM2, ItsMetadataAreRead) {
  const TokenizerData data = tokenizer->data();
  EXPECT_EQ(data.model, "gpt2");
  EXPECT_EQ(data.preTokenizer, "smollm");
  EXPECT_EQ(data.tokens.size(), 49152u);
  EXPECT_EQ(data.merges.size(), 48900u);
  EXPECT_EQ(std::tie(data.bos, data.eos, data.unknown, data.padding), std::tuple(1, 2, 0, 2));
  EXPECT_FALSE(data.addBos);
  EXPECT_FALSE(data.addEos);
  // <|endoftext|>, <|im_end|>, <reponame>, as llama.cpp's llama_vocab_is_eog.
  EXPECT_EQ(data.endOfGeneration, (Ids{0, 2, 4}));
}

TEST_F(SmolLM2, ItsChatTemplateIsTheDeclaredOne) {
  ChatTemplate chat;
  ASSERT_TRUE(parseChatTemplate(
      nlohmann::json::parse(readText(WRIT_SOURCE_DIR "/circuits/chat/chatml_smollm2.json")), &chat,
      nullptr));
  EXPECT_EQ(matchChatTemplate(*file, tokenizer->data(), {&chat, 1}), &chat);
  EXPECT_EQ(tokenizer->encode(chat.stop, {false, true}), (Ids{2}));
}

TEST_F(SmolLM2, ItsPackageFileComesBackExactlyAndFast) {
  const std::string document = writeTokenizerData(tokenizer->data());
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    TokenizerData back;
    std::string error;
    std::clock_t start = std::clock();
    ASSERT_TRUE(readTokenizerData(document, &back, &error)) << error;
    best = std::min(best, double(std::clock() - start) / CLOCKS_PER_SEC);
    EXPECT_EQ(back.tokens, tokenizer->data().tokens);
    EXPECT_EQ(back.merges, tokenizer->data().merges);
    EXPECT_EQ(back.chatTemplate, tokenizer->data().chatTemplate);
  }
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(best, 0.1) << "seconds of processor time";
#endif
  RecordProperty("read_ms", std::to_string(best * 1e3));
}

} // namespace
} // namespace writ::test
