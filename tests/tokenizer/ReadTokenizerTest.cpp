#include "compiler/Import/ReadTokenizer.h"
#include "Vocabulary.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

namespace writ::test {
namespace {

/// Metadata without a file.
class Metadata final : public ModelFile {
public:
  explicit Metadata(std::vector<MetadataEntry> given) {
    filePath = "model.gguf";
    fileFormat = "gguf-v3";
    entries = std::move(given);
    for (size_t i = 0; i < entries.size(); ++i)
      entries[i].value.offset = 100 + i;
    buildIndexes();
  }
  std::span<const std::byte> bytes(const TensorInfo &) const override { return {}; }
  std::string sha256() const override { return {}; }
};

using Strings = std::vector<std::string>;
using Integers = std::vector<int64_t>;

MetadataEntry text(const char *key, std::string value) {
  return {std::string("tokenizer.") + key, {std::move(value), "string"}};
}
MetadataEntry integer(const char *key, uint64_t value) {
  return {std::string("tokenizer.") + key, {value, "u32"}};
}
MetadataEntry flag(const char *key, bool value) {
  return {std::string("tokenizer.") + key, {value, "bool"}};
}
template <typename List> MetadataEntry list(const char *key, List value, const char *type) {
  return {std::string("tokenizer.") + key, {MetadataValue::Array(std::move(value)), type}};
}

/// A file with four tokens: "a", "b", "ab", and the given ones as normal tokens.
std::vector<MetadataEntry> smallFile(Strings further = {"<|im_end|>"}) {
  Strings tokens = {"a", "b", "ab"};
  tokens.insert(tokens.end(), further.begin(), further.end());
  Integers types(tokens.size(), 1);
  return {text("ggml.model", "gpt2"),
          text("ggml.pre", "gpt-2"),
          list("ggml.tokens", tokens, "array<string>"),
          list("ggml.token_type", types, "array<i32>"),
          list("ggml.merges", Strings{"a b"}, "array<string>"),
          integer("ggml.eos_token_id", 1)};
}

std::vector<MetadataEntry> with(std::vector<MetadataEntry> entries, MetadataEntry entry) {
  auto same = std::find_if(entries.begin(), entries.end(),
                           [&](const MetadataEntry &each) { return each.key == entry.key; });
  if (same != entries.end())
    *same = std::move(entry);
  else
    entries.push_back(std::move(entry));
  return entries;
}

std::vector<MetadataEntry> without(std::vector<MetadataEntry> entries, const std::string &key) {
  std::erase_if(entries, [&](const MetadataEntry &e) { return e.key == "tokenizer." + key; });
  return entries;
}

std::string refusal(std::vector<MetadataEntry> entries) {
  try {
    readTokenizer(Metadata(std::move(entries)));
  } catch (const Error &error) {
    std::string text = error.what();
    return text.substr(0, text.find('\n'));
  }
  ADD_FAILURE() << "not refused";
  return {};
}

TEST(ReadTokenizer, ReadsWhatTheFileSays) {
  auto entries = with(smallFile(), integer("ggml.bos_token_id", 0));
  entries = with(entries, flag("ggml.add_bos_token", true));
  entries = with(entries, text("chat_template", "{{ x }}"));
  TokenizerData data = readTokenizer(Metadata(entries));
  EXPECT_EQ(data.tokens, (Strings{"a", "b", "ab", "<|im_end|>"}));
  EXPECT_EQ(std::tie(data.bos, data.eos, data.unknown, data.padding), std::tuple(0, 1, -1, -1));
  EXPECT_TRUE(data.addBos);
  EXPECT_FALSE(data.addEos);
  EXPECT_EQ(data.chatTemplate, "{{ x }}");
}

TEST(ReadTokenizer, BosIsAddedByDefaultWhereThePreTokenizerSaysSo) {
  auto entries = with(smallFile(), text("ggml.pre", "llama-bpe"));
  entries = with(entries, integer("ggml.bos_token_id", 0));
  EXPECT_TRUE(readTokenizer(Metadata(entries)).addBos);
  EXPECT_FALSE(readTokenizer(Metadata(with(entries, flag("ggml.add_bos_token", false)))).addBos);
}

TEST(ReadTokenizer, EndsAreThoseOfTheKeysAndThoseKnownByText) {
  auto ends = [](std::vector<MetadataEntry> entries) {
    return readTokenizer(Metadata(std::move(entries))).endOfGeneration;
  };
  EXPECT_EQ(ends(smallFile()), (Ids{1, 3}));
  EXPECT_EQ(ends(with(smallFile({"x"}), integer("ggml.eot_token_id", 3))), (Ids{1, 3}));
  EXPECT_EQ(ends(smallFile({"<end_of_turn>", "x", "<|eot_id|>"})), (Ids{1, 3, 5}));
  EXPECT_EQ(ends(smallFile({"<|fim_pad|>", "x"})), (Ids{1, 3}));
  EXPECT_EQ(ends(with(smallFile({"<|fim_pad|>", "x"}), integer("ggml.fim_pad_token_id", 4))),
            (Ids{1, 4}));
  EXPECT_EQ(ends(smallFile({"<|end|>", "<|call|>"})), (Ids{1, 3, 4}));
  EXPECT_EQ(ends(smallFile({"<|end|>", "<|call|>", "<|return|>"})), (Ids{1, 4, 5}));
}

TEST(ReadTokenizer, TokensKnownByTextAreControlTokens) {
  auto tokenizer = makeTokenizer(readTokenizer(Metadata(smallFile())), nullptr);
  EXPECT_EQ(tokenizer->encode("ab<|im_end|>", {true, true}), (Ids{2, 3}));
  EXPECT_EQ(tokenizer->piece(3, false), "");
}

TEST(ReadTokenizer, SomeTokensKnownByTextHaveTheTypeThatTheyAreUsedWith) {
  auto types = [](const std::vector<MetadataEntry> &entries) {
    return readTokenizer(Metadata(entries)).types;
  };
  const auto file = smallFile({"<fim_prefix>", "\u2581<MID>", "<|start|>"});
  EXPECT_EQ(types(file), (Ids{1, 1, 1, 3, 3, 4}));
  // Where the file says which token it is, the file's type holds.
  EXPECT_EQ(types(with(file, integer("ggml.fim_pre_token_id", 0))), (Ids{1, 1, 1, 1, 3, 4}));
  EXPECT_EQ(types(with(file, integer("ggml.middle_token_id", 0))), (Ids{1, 1, 1, 3, 1, 4}));
  EXPECT_EQ(readTokenizer(Metadata(file)).endOfGeneration, (Ids{1}));
}

TEST(ReadTokenizer, E041_AKeyThatIsMissingOrOfTheWrongTypeIsNamed) {
  for (const char *key : {"ggml.model", "ggml.pre", "ggml.tokens", "ggml.merges"})
    EXPECT_EQ(refusal(without(smallFile(), key)),
              std::string("model.gguf: error: the model file has no 'tokenizer.") + key +
                  "', which its tokenizer needs [E041]");
  EXPECT_EQ(refusal(with(smallFile(), integer("ggml.model", 1))),
            "model.gguf: error: expected string, got u32 at byte 100 (field "
            "'tokenizer.ggml.model') [E041]");
  EXPECT_EQ(refusal(with(smallFile(), list("ggml.tokens", Integers{1}, "array<i32>"))),
            "model.gguf: error: expected array<string>, got array<i32> at byte 102 (field "
            "'tokenizer.ggml.tokens') [E041]");
  EXPECT_EQ(refusal(with(smallFile(), text("ggml.add_bos_token", "yes"))),
            "model.gguf: error: expected bool, got string at byte 106 (field "
            "'tokenizer.ggml.add_bos_token') [E041]");
}

TEST(ReadTokenizer, Cases15_E042_AnUnknownModelOrPreTokenizerIsRefusedByName) {
  EXPECT_EQ(refusal(with(smallFile(), text("ggml.pre", "gpt-3"))),
            "model.gguf: error: pre-tokenizer 'gpt-3' is unknown; known are 'gpt-2', 'llama-bpe', "
            "'qwen2', 'smollm' at byte 101 (field 'tokenizer.ggml.pre') [E042]");
  std::string error = refusal(with(smallFile(), text("ggml.model", "bert\n")));
  EXPECT_EQ(error.find("model.gguf: error: tokenizer model 'bert\\n' is unknown; known are 'gpt2'"),
            0u)
      << error;
}

TEST(ReadTokenizer, E044_ListsOfDifferentLengthsAreRefused) {
  EXPECT_EQ(refusal(with(smallFile(), list("ggml.token_type", Integers{1, 1}, "array<i32>"))),
            "model.gguf: error: 2 elements for a vocabulary of 4 tokens at byte 103 (field "
            "'tokenizer.ggml.token_type') [E044]");
  EXPECT_EQ(
      refusal(with(smallFile(), list("ggml.scores", std::vector<double>(5, 0.5), "array<f32>"))),
      "model.gguf: error: 5 elements for a vocabulary of 4 tokens at byte 106 (field "
      "'tokenizer.ggml.scores') [E044]");
}

TEST(ReadTokenizer, E045_AnIdOutsideTheVocabularyIsRefused) {
  for (const char *key : {"ggml.eos_token_id", "ggml.bos_token_id", "ggml.eot_token_id",
                          "ggml.mask_token_id", "ggml.padding_token_id"}) {
    std::string error = refusal(with(smallFile(), integer(key, 4)));
    EXPECT_NE(error.find("token 4 is outside the vocabulary of 4 tokens"), std::string::npos)
        << error;
    EXPECT_NE(error.find(std::string("(field 'tokenizer.") + key + "') [E045]"), std::string::npos)
        << error;
  }
}

TEST(ReadTokenizer, E046_AKeyThatMayChangeTheIdsIsRefusedByName) {
  EXPECT_EQ(refusal(with(smallFile(), flag("ggml.remove_extra_whitespaces", true))),
            "model.gguf: error: the key asks for a step that Writ's tokenizers do not have at byte "
            "106 (field 'tokenizer.ggml.remove_extra_whitespaces') [E046]");
  EXPECT_EQ(refusal(with(smallFile(), integer("ggml.surprise", 1))),
            "model.gguf: error: the key is unknown and may change token ids at byte 106 (field "
            "'tokenizer.ggml.surprise') [E046]");
  readTokenizer(Metadata(with(smallFile(), flag("ggml.remove_extra_whitespaces", false))));
}

TEST(ReadTokenizer, E040_AnyOtherRuleIsCheckedToo) {
  EXPECT_EQ(refusal(with(smallFile(), list("ggml.merges", Strings{"a z"}, "array<string>"))),
            "model.gguf: error: the tokenizer cannot be used: merge 0 ('a z') names 'z', which is "
            "not in the vocabulary [E040]");
  EXPECT_EQ(refusal(with(smallFile(), list("ggml.token_type", Integers{1, 1, 1, 9}, "array<i32>"))),
            "model.gguf: error: token 3 has type 9; types are 1 to 6 at byte 103 (field "
            "'tokenizer.ggml.token_type') [E040]");
}

/// <unk>, <s>, </s>, 256 byte tokens, U+2581, "a", "b", "ab" (262).
std::vector<MetadataEntry> scoredFile() {
  Strings tokens = {"<unk>", "<s>", "</s>"};
  Integers types = {2, 3, 3};
  for (int byte = 0; byte < 256; ++byte) {
    tokens.push_back(fmt::format("<0x{:02X}>", byte));
    types.push_back(6);
  }
  for (const char *token : {"\u2581", "a", "b", "ab"}) {
    tokens.push_back(token);
    types.push_back(1);
  }
  return {text("ggml.model", "llama"), list("ggml.tokens", tokens, "array<string>"),
          list("ggml.scores", std::vector<double>(tokens.size(), -1.5), "array<f32>"),
          list("ggml.token_type", types, "array<i32>")};
}

TEST(ReadScoredTokenizer, WhatTheFileDoesNotSayIsAsLlamaCppHasIt) {
  TokenizerData data = readTokenizer(Metadata(scoredFile()));
  EXPECT_EQ(std::tie(data.bos, data.eos, data.unknown, data.padding), std::tuple(1, 2, 0, -1));
  EXPECT_TRUE(data.addBos);
  EXPECT_FALSE(data.addEos);
  EXPECT_TRUE(data.addSpacePrefix);
  EXPECT_EQ(data.endOfGeneration, (Ids{2}));
  EXPECT_EQ(data.scores, std::vector<float>(263, -1.5f));
  EXPECT_EQ(makeTokenizer(data, nullptr)->encode("ab</s>", {true, true}), (Ids{1, 259, 262, 2}));
}

TEST(ReadScoredTokenizer, TheFileDecidesWhereItSays) {
  auto entries = scoredFile();
  for (auto [key, id] : {std::pair("bos", 260), {"eos", 261}, {"unknown", 262}, {"padding", 1}})
    entries.push_back(integer(fmt::format("ggml.{}_token_id", key).c_str(), uint64_t(id)));
  for (auto [key, value] :
       {std::pair("bos_token", false), {"eos_token", true}, {"space_prefix", false}})
    entries.push_back(flag(fmt::format("ggml.add_{}", key).c_str(), value));
  TokenizerData data = readTokenizer(Metadata(entries));
  EXPECT_EQ(std::tie(data.bos, data.eos, data.unknown, data.padding), std::tuple(260, 261, 262, 1));
  EXPECT_FALSE(data.addBos);
  EXPECT_TRUE(data.addEos);
  EXPECT_FALSE(data.addSpacePrefix);
  EXPECT_EQ(data.endOfGeneration, (Ids{2, 261})); // </s> by its text
}

TEST(ReadScoredTokenizer, E041_ScoresAndTypesAreNeeded) {
  for (const char *key : {"ggml.tokens", "ggml.scores", "ggml.token_type"})
    EXPECT_EQ(refusal(without(scoredFile(), key)),
              std::string("model.gguf: error: the model file has no 'tokenizer.") + key +
                  "', which its tokenizer needs [E041]");
  EXPECT_EQ(refusal(with(scoredFile(), list("ggml.scores", Strings{"1"}, "array<string>"))),
            "model.gguf: error: expected array<f32>, got array<string> at byte 102 (field "
            "'tokenizer.ggml.scores') [E041]");
}

TEST(ReadScoredTokenizer, E042_APreTokenizerIsRefused) {
  readTokenizer(Metadata(with(scoredFile(), text("ggml.pre", "default"))));
  EXPECT_EQ(
      refusal(with(scoredFile(), text("ggml.pre", "llama-bpe"))),
      "model.gguf: error: pre-tokenizer 'llama-bpe' is given, but tokenizer model 'llama' has "
      "none; it knows only 'default' at byte 104 (field 'tokenizer.ggml.pre') [E042]");
}

TEST(ReadScoredTokenizer, MergesBesideScoresSayNothingNew) {
  auto entries = with(scoredFile(), list("ggml.merges", Strings{"no merge"}, "array<string>"));
  EXPECT_TRUE(readTokenizer(Metadata(entries)).merges.empty());
}

TEST(ReadScoredTokenizer, E044_ScoresOfAnotherLengthAreRefused) {
  for (size_t length : {0, 262, 264})
    EXPECT_EQ(refusal(with(scoredFile(),
                           list("ggml.scores", std::vector<double>(length, -1), "array<f32>"))),
              fmt::format("model.gguf: error: {} elements for a vocabulary of 263 tokens at byte "
                          "102 (field 'tokenizer.ggml.scores') [E044]",
                          length));
}

TEST(ReadScoredTokenizer, E045_AnIdOutsideTheVocabularyIsRefusedAndADefaultOneIsNot) {
  EXPECT_EQ(refusal(with(scoredFile(), integer("ggml.bos_token_id", 263))),
            "model.gguf: error: token 263 is outside the vocabulary of 263 tokens at byte 104 "
            "(field 'tokenizer.ggml.bos_token_id') [E045]");
}

TEST(ReadScoredTokenizer, E046_AStepThatWritDoesNotHaveIsRefusedByName) {
  for (const char *key : {"remove_extra_whitespaces", "add_sep_token", "normalizer.lowercase"}) {
    std::string name = std::string("ggml.") + key;
    readTokenizer(Metadata(with(scoredFile(), flag(name.c_str(), false))));
    EXPECT_EQ(refusal(with(scoredFile(), flag(name.c_str(), true))),
              "model.gguf: error: the key asks for a step that Writ's tokenizers do not have at "
              "byte 104 (field 'tokenizer." +
                  name + "') [E046]");
  }
  for (const char *key : {"precompiled_charsmap", "suppress_tokens", "treat_whitespace_as_suffix"})
    EXPECT_EQ(refusal(with(scoredFile(),
                           list((std::string("ggml.") + key).c_str(), Integers{1}, "array<u8>"))),
              std::string("model.gguf: error: the key is unknown and may change token ids at byte "
                          "104 (field 'tokenizer.ggml.") +
                  key + "') [E046]");
}

TEST(ReadScoredTokenizer, E040_AnyOtherRuleIsCheckedToo) {
  const std::string start = "model.gguf: error: the tokenizer cannot be used: ";
  std::vector<double> scores(263, -1.5);
  scores[260] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(refusal(with(scoredFile(), list("ggml.scores", scores, "array<f32>"))),
            start + "token 260 has a score that is not finite [E040]");
  Strings tokens = *Metadata(scoredFile()).find("tokenizer.ggml.tokens")->asStrings();
  tokens[261] = "a";
  EXPECT_EQ(refusal(with(scoredFile(), list("ggml.tokens", tokens, "array<string>"))),
            start + "tokens 260 and 261 have the same text, 'a' [E040]");
  tokens[261] = "b";
  tokens[3 + 0xC3] = "c";
  Integers types(263, 6);
  std::fill_n(types.begin(), 3, 3);
  std::fill_n(types.begin() + 259, 4, 1);
  types[3 + 0xC3] = 1;
  EXPECT_EQ(refusal(with(with(scoredFile(), list("ggml.tokens", tokens, "array<string>")),
                         list("ggml.token_type", types, "array<i32>"))),
            start + "the vocabulary has no token '<0xC3>'; every byte needs one [E040]");
}

TEST(MatchChatTemplate, E047_AnUndeclaredTemplateIsRefused) {
  Metadata file(with(smallFile(), text("chat_template", "{{ x }}")));
  EXPECT_THROW(matchChatTemplate(file, readTokenizer(file), {}), Error);
  Metadata bare(smallFile());
  EXPECT_EQ(matchChatTemplate(bare, readTokenizer(bare), {}), nullptr);
}

} // namespace
} // namespace writ::test
