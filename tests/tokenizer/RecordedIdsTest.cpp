//===- RecordedIdsTest.cpp - the real model's ids against those of llama.cpp ===//
//
// tests/data/tokenizer/smollm2.json holds what llama.cpp gave, with its provenance. The model file
// is where scripts/fetch-model puts it.
//
//===----------------------------------------------------------------------===//
#include "Vocabulary.h"
#include "compiler/Import/ReadTokenizer.h"

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace writ::test {
namespace {

std::string modelPath() {
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  std::string base = cache && *cache ? cache : std::string(home ? home : "") + "/.cache";
  return base + "/writ/models/SmolLM2-135M-Instruct.Q4_1.gguf";
}

class SmolLM2 : public testing::Test {
protected:
  static void SetUpTestSuite() {
    if (!std::filesystem::exists(modelPath()))
      return;
    file = openModelFile(modelPath());
    std::string error;
    tokenizer = makeTokenizer(readTokenizer(*file), &error);
    ASSERT_TRUE(tokenizer) << error;
  }
  static void TearDownTestSuite() {
    tokenizer.reset();
    file.reset();
  }
  void SetUp() override {
    if (!tokenizer)
      GTEST_SKIP() << "no model file " << modelPath() << "; run scripts/fetch-model smollm2";
  }

  static nlohmann::json recorded() {
    return nlohmann::json::parse(readText(WRIT_SOURCE_DIR "/tests/data/tokenizer/smollm2.json"));
  }

  static inline std::unique_ptr<ModelFile> file;
  static inline std::unique_ptr<Tokenizer> tokenizer;
};

TEST_F(SmolLM2, Cases15_EncodeEqualsTheRecordedIds) {
  size_t count = 0, different = 0;
  const nlohmann::json record = recorded();
  for (const auto &each : record["cases"]) {
    ++count;
    std::string text = each["text"];
    if (tokenizer->encode(text, {true, true}) == each["ids"].get<Ids>())
      continue;
    if (++different <= 5)
      ADD_FAILURE() << "ids differ for " << each["text"].dump();
  }
  EXPECT_GE(count, 300u);
  EXPECT_EQ(different, 0u);
}

TEST_F(SmolLM2, TheRecordIsOfThisModel) {
  EXPECT_EQ(recorded()["provenance"]["model_sha256"], file->sha256());
}

TEST_F(SmolLM2, DecodeGivesBackTheRecordedTexts) {
  // The vocabulary lacks the tokens of these bytes, so that they have no ids (llama.cpp as well).
  const std::string lacking("\x04\x06\x13\x14\x16\x1D\xF1\xF2", 8);
  const nlohmann::json record = recorded();
  for (const auto &each : record["cases"]) {
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
    std::string text = each["text"], whole;
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
  const TokenizerData &data = tokenizer->data();
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
