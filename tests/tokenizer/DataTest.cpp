#include "Vocabulary.h"

#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

namespace writ::test {
namespace {

void expectEqual(const TokenizerData &a, const TokenizerData &b) {
  EXPECT_EQ(a.model, b.model);
  EXPECT_EQ(a.preTokenizer, b.preTokenizer);
  EXPECT_EQ(a.tokens, b.tokens);
  EXPECT_EQ(a.scores, b.scores);
  EXPECT_EQ(a.types, b.types);
  EXPECT_EQ(a.merges, b.merges);
  EXPECT_EQ(std::tie(a.bos, a.eos, a.unknown, a.padding),
            std::tie(b.bos, b.eos, b.unknown, b.padding));
  EXPECT_EQ(a.endOfGeneration, b.endOfGeneration);
  EXPECT_EQ(std::tie(a.addBos, a.addEos, a.addSpacePrefix),
            std::tie(b.addBos, b.addEos, b.addSpacePrefix));
  EXPECT_EQ(a.chatTemplate, b.chatTemplate);
}

TEST(TokenizerData, ComesBackExactly) {
  TokenizerData data = smallVocabulary();
  data.addBos = data.addSpacePrefix = true;
  data.padding = 7;
  data.chatTemplate = "{{ \"\\\n\t\x01\x7F é 😊 }}";
  data.tokens.back() = std::string("nul \0 quote \" line \xE2\x80\xA8 end", 25);
  std::mt19937 random(4);
  for (size_t i = 0; i < data.tokens.size(); ++i)
    data.scores.push_back(std::ldexp(static_cast<float>(random()), int(random() % 200) - 120));
  data.scores[0] = -0.0f;
  data.scores[1] = std::numeric_limits<float>::denorm_min();
  data.scores[2] = std::numeric_limits<float>::max();
  data.scores[3] = -std::numeric_limits<float>::max();
  TokenizerData back;
  std::string error;
  ASSERT_TRUE(readTokenizerData(writeTokenizerData(data), &back, &error)) << error;
  expectEqual(data, back);
  EXPECT_TRUE(std::signbit(back.scores[0]));
  EXPECT_EQ(writeTokenizerData(back), writeTokenizerData(data));
}

std::string readError(const std::string &document) {
  TokenizerData data;
  data.model = "untouched";
  std::string error;
  EXPECT_FALSE(readTokenizerData(document, &data, &error)) << document.substr(0, 200);
  EXPECT_EQ(data.model, "untouched");
  return error;
}

TEST(TokenizerData, ADocumentOfAnotherShapeIsRefusedByField) {
  auto changed = [](const std::string &key, const nlohmann::json &value) {
    nlohmann::json document = nlohmann::json::parse(writeTokenizerData(smallVocabulary()));
    if (value.is_discarded())
      document.erase(key);
    else
      document[key] = value;
    return readError(document.dump());
  };
  using json = nlohmann::json;
  EXPECT_EQ(changed("tokens", json(json::value_t::discarded)), "field 'tokens' is missing");
  EXPECT_EQ(changed("format", json(json::value_t::discarded)), "field 'format' is missing");
  EXPECT_EQ(changed("format", "writ-tokenizer-0"),
            "field 'format': 'writ-tokenizer-0' is not 'writ-tokenizer-1'");
  EXPECT_EQ(changed("colour", 1), "field 'colour' is unknown");
  EXPECT_EQ(changed("tokens", "a"), "field 'tokens': expected a list");
  EXPECT_EQ(changed("tokens", {"a", 1}), "field 'tokens', element 1: expected a string");
  EXPECT_EQ(changed("tokens", json::parse("[[1]]")),
            "field 'tokens', element 0: a list has no place here");
  EXPECT_EQ(changed("tokens", json::parse("{}")), "field 'tokens': an object has no place here");
  EXPECT_EQ(changed("model", json::array()), "field 'model': a list has no place here");
  EXPECT_EQ(changed("types", {1, 1.5}), "field 'types', element 1: expected an integer of 32 bits");
  EXPECT_EQ(changed("bos", int64_t(1) << 40), "field 'bos': expected an integer of 32 bits");
  EXPECT_EQ(changed("bos", true), "field 'bos': expected an integer of 32 bits");
  EXPECT_EQ(changed("add_bos", 1), "field 'add_bos': expected true or false");
  EXPECT_EQ(changed("scores", {1e300}),
            "field 'scores', element 0: the number does not fit into 32 bits");
  EXPECT_EQ(changed("scores", {nullptr}), "field 'scores', element 0: null has no place here");
}

TEST(TokenizerData, WhatIsNotSuchADocumentIsRefused) {
  std::string good = writeTokenizerData(smallVocabulary());
  EXPECT_NE(readError("").find("not JSON"), std::string::npos);
  EXPECT_NE(readError(good + "x").find("not JSON"), std::string::npos);
  EXPECT_NE(readError("{\"model\": \"\xFF\"}").find("not JSON"), std::string::npos);
  EXPECT_EQ(readError("{\"model\": \"a\", \"model\": \"b\"}"), "field 'model' stands there twice");
  EXPECT_EQ(readError("[]"), "the document: a list has no place here");
  EXPECT_EQ(readError("3"), "the document: expected an object");
  EXPECT_EQ(readError(std::string(1 << 20, '[')), "the document: a list has no place here");
  for (size_t length = 0; length + 2 < good.size(); length += 7)
    EXPECT_NE(readError(good.substr(0, length)), "");
}

std::string makeError(const std::function<void(TokenizerData &)> &change) {
  TokenizerData data = smallVocabulary();
  change(data);
  std::string error;
  EXPECT_FALSE(makeTokenizer(data, &error));
  return error;
}

TEST(MakeTokenizer, Cases15_AnUnknownPreTokenizerIsAnErrorThatListsTheKnownOnes) {
  EXPECT_EQ(
      makeError([](auto &data) { data.preTokenizer = "gpt-3"; }),
      "pre-tokenizer 'gpt-3' is unknown; known are 'gpt-2', 'llama-bpe', 'qwen2', 'smollm' (a "
      "further one is an entry of pre_tokenizers.json)");
}

TEST(MakeTokenizer, AnUnknownModelIsAnErrorThatListsTheKnownOnes) {
  std::string error = makeError([](auto &data) { data.model = "bert"; });
  EXPECT_EQ(error.find("tokenizer model 'bert' is unknown; known are 'gpt2'"), 0u) << error;
}

TEST(MakeTokenizer, DataThatBreakARuleAreRefused) {
  const std::pair<std::function<void(TokenizerData &)>, const char *> cases[] = {
      {[](auto &d) { d.tokens.clear(); }, "the vocabulary is empty"},
      {[](auto &d) { d.types.pop_back(); }, "285 types for 286 tokens"},
      {[](auto &d) { d.scores = {1}; }, "1 scores for 286 tokens"},
      {[](auto &d) { d.types[5] = 7; }, "token 5 has type 7; types are 1 to 6"},
      {[](auto &d) { d.types[5] = 6; },
       "token 5 ('ā') has type 6 (byte), but is not written <0xNN>"},
      {[](auto &d) { d.tokens[285] = "hello"; }, "tokens 263 and 285 have the same text, 'hello'"},
      {[](auto &d) { d.tokens[285] = "\xFF"; }, "token 285 is not valid UTF-8"},
      {[](auto &d) { d.scores.assign(286, std::numeric_limits<float>::quiet_NaN()); },
       "token 0 has a score that is not finite"},
      {[](auto &d) { d.bos = 286; }, "bos is token 286, but the vocabulary has 286 tokens"},
      {[](auto &d) { d.eos = -2; }, "eos is token -2, but the vocabulary has 286 tokens"},
      {[](auto &d) { d.endOfGeneration = {-1}; },
       "an end of generation is token -1, but the vocabulary has 286 tokens"},
      {[](auto &d) { d.addBos = true, d.bos = -1; },
       "BOS is to be added, but the model names no bos token"},
      {[](auto &d) { d.merges[1] = "ll"; },
       "merge 1 ('ll') is not two tokens with a space between them"},
      {[](auto &d) { d.merges[1] = ""; },
       "merge 1 ('') is not two tokens with a space between them"},
      {[](auto &d) { d.merges[1] = "l zz"; },
       "merge 1 ('l zz') names 'zz', which is not in the vocabulary"},
      {[](auto &d) { d.merges[1] = "z q"; },
       "merge 1 ('z q') names 'zq', which is not in the vocabulary"},
      {[](auto &d) { d.merges[1] = "a \xFF"; }, "merge 1 is not valid UTF-8"},
      {[](auto &d) { d.chatTemplate = "\xC0"; }, "the chat template is not valid UTF-8"},
  };
  for (const auto &[change, message] : cases)
    EXPECT_EQ(makeError(change), message);
}

} // namespace
} // namespace writ::test
