//===- RecordedCases.h - what llama.cpp gave for a corpus of texts --------===//
//
// scripts/evidence/make_tokenizer_corpus.py writes these records, with their provenance.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "Vocabulary.h"

#include <nlohmann/json.hpp>

namespace writ::test {

inline nlohmann::json readRecord(const std::string &name) {
  return nlohmann::json::parse(readText(WRIT_SOURCE_DIR "/tests/data/tokenizer/" + name + ".json"));
}

/// A text that is not UTF-8 is recorded as the list of its bytes.
inline std::string recordedText(const nlohmann::json &entry) {
  const nlohmann::json &text = entry["text"];
  if (text.is_string())
    return text;
  std::string bytes;
  for (const auto &byte : text)
    bytes += static_cast<char>(byte.get<int>());
  return bytes;
}

/// Every text has the recorded ids, and the recorded plain ones where special tokens stay text.
inline void expectRecordedIds(const Tokenizer &tokenizer, const nlohmann::json &entries,
                              size_t atLeast) {
  size_t different = 0;
  for (const auto &entry : entries)
    for (const char *key : {"ids", "plain"}) {
      const bool special = std::string_view(key) == "ids";
      const Ids expected = entry[special || !entry.contains(key) ? "ids" : key];
      if (tokenizer.encode(recordedText(entry), {true, special}) == expected)
        continue;
      if (++different <= 5)
        ADD_FAILURE() << key << " differ for " << entry["text"].dump();
    }
  EXPECT_GE(entries.size(), atLeast);
  EXPECT_EQ(different, 0u);
}

} // namespace writ::test
