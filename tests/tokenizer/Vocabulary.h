//===- Vocabulary.h - the small vocabulary of the tokenizer tests -----------===//
//
// tests/data/tokenizer/small.json: control tokens 0 to 2, an unknown token 3, byte b as 4 + b, 19
// merges, then two user-defined tokens, one of them twice the other, "café" (user-defined), a
// byte token, an unused one, an empty one and "worldwide", which no merge makes.
//
// tests/data/tokenizer/scored.json: an unknown token 0, control tokens 1 and 2, byte b as 3 + b,
// tokens with scores from 259 on, and at the end four user-defined ones, an unused and an empty
// one.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/src/tokenizer/TokenizerTables.h"

#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <sstream>

namespace writ::test {

inline std::string readText(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline TokenizerData readVocabulary(const std::string &name) {
  TokenizerData data;
  std::string error;
  EXPECT_TRUE(readTokenizerData(readText(WRIT_SOURCE_DIR "/tests/data/tokenizer/" + name + ".json"),
                                &data, &error))
      << error;
  return data;
}

inline TokenizerData smallVocabulary() {
  return readVocabulary("small");
}

inline std::string compiled(const TokenizerData &data) {
  std::string error;
  const std::optional<std::string> tables = compileTokenizer(data, &error);
  EXPECT_TRUE(tables) << error;
  return tables.value_or("");
}

inline TokenizerTables openTables(const std::string &bytes) {
  auto copy = std::make_unique_for_overwrite<std::byte[]>(bytes.size());
  std::memcpy(copy.get(), bytes.data(), bytes.size());
  TokenizerTables tables;
  std::string error;
  EXPECT_TRUE(tables.open(std::move(copy), bytes.size(), &error)) << error;
  return tables;
}

inline std::unique_ptr<Tokenizer> scoredTokenizer(bool addSpacePrefix) {
  TokenizerData data = readVocabulary("scored");
  data.addSpacePrefix = addSpacePrefix;
  std::string error;
  std::unique_ptr<Tokenizer> tokenizer = makeTokenizer(data, &error);
  EXPECT_TRUE(tokenizer) << error;
  return tokenizer;
}

inline std::unique_ptr<Tokenizer> smallTokenizer(const std::string &preTokenizer = "gpt-2") {
  TokenizerData data = smallVocabulary();
  data.preTokenizer = preTokenizer;
  std::string error;
  std::unique_ptr<Tokenizer> tokenizer = makeTokenizer(data, &error);
  EXPECT_TRUE(tokenizer) << error;
  return tokenizer;
}

using Ids = std::vector<int32_t>;
constexpr int32_t byteId(unsigned char byte) {
  return 4 + byte;
}

/// The ids of a text that no merge and no special token touches.
inline Ids byteIds(std::string_view text) {
  Ids ids;
  for (unsigned char byte : text)
    ids.push_back(byteId(byte));
  return ids;
}

inline void appendUtf8(std::string &out, uint32_t c) {
  auto put = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80)
    return put(c);
  if (c < 0x800)
    put(0xC0 | c >> 6);
  else if (c < 0x10000)
    put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 0x3F));
  else
    put(0xF0 | c >> 18), put(0x80 | (c >> 12 & 0x3F)), put(0x80 | (c >> 6 & 0x3F));
  put(0x80 | (c & 0x3F));
}

/// Valid UTF-8 of all planes, thick with ASCII, white space and what the small vocabulary merges.
inline std::string randomText(std::mt19937 &random, size_t length) {
  static const char *const parts[] = {"hello", " world", "a", "  ", "\n\n",     "12",
                                      "é",     "don't",  "😊", "\t", "<|im_end", "\r\n"};
  std::string text;
  for (size_t i = 0; i < length; ++i) {
    uint32_t choice = random() % 8;
    uint32_t limit = choice == 0 ? 0x110000 : choice == 1 ? 0x3000 : 0x80;
    if (choice >= 5) {
      text += parts[random() % std::size(parts)];
      continue;
    }
    uint32_t c = random() % limit;
    appendUtf8(text, c >= 0xD800 && c < 0xE000 ? 0xFFFD : c);
  }
  return text;
}

} // namespace writ::test
