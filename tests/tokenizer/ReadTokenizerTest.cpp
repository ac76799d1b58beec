#include "compiler/Import/ReadTokenizer.h"
#include "Vocabulary.h"

#include <algorithm>

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
  void release(const TensorInfo &) const override {}
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

TEST(MatchChatTemplate, E047_AnUndeclaredTemplateIsRefused) {
  Metadata file(with(smallFile(), text("chat_template", "{{ x }}")));
  EXPECT_THROW(matchChatTemplate(file, readTokenizer(file), {}), Error);
  Metadata bare(smallFile());
  EXPECT_EQ(matchChatTemplate(bare, readTokenizer(bare), {}), nullptr);
}

} // namespace
} // namespace writ::test
