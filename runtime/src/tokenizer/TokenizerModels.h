//===- TokenizerModels.h - the kinds of tokenizer -------------------------===//
#pragma once

#include "TokenizerTables.h"

#include <vector>

namespace writ {

/// What one model adds to the tables of every vocabulary.
struct ModelTables {
  std::vector<TablesMerge> merges;
  std::string beforeSpace;
};

/// A vocabulary while its tables are made: the slots of its tokens are there.
struct Vocabulary {
  const TokenizerData &data;
  std::span<const uint32_t> slots;

  int32_t find(std::string_view text) const {
    return searchSlots(slots, tokenHash(text),
                       [&](int32_t id) { return data.tokens[size_t(id)] == text; })
        .index;
  }
  TokenType type(int32_t id) const {
    return data.types.empty() ? TokenType::normal : static_cast<TokenType>(data.types[size_t(id)]);
  }
};

/// One kind of tokenizer. Both functions set `error` and return false or null where they fail.
struct TokenizerKind {
  /// Refuses data that break a rule of this model alone; `data` keeps the common ones.
  bool (*compile)(const Vocabulary &vocabulary, ModelTables *tables, std::string *error);
  std::unique_ptr<Tokenizer> (*open)(TokenizerTables tables, std::string *error);
};

/// Byte-level byte-pair encoding (GPT-2): pre-tokenizer patterns, then merges by rank.
extern const TokenizerKind byteBpe;

/// Byte-pair encoding by scores (SentencePiece): characters, then merges, then byte tokens.
extern const TokenizerKind scoredBpe;

/// Null, with `error`, where no model has this name.
const TokenizerKind *tokenizerKind(std::string_view model, std::string *error);

/// "'a', 'b', 'c'", for messages that list what is known.
std::string quotedList(const std::vector<std::string_view> &names);
template <class Specs> std::string quotedNames(const Specs &specs) {
  std::vector<std::string_view> names;
  for (const auto &spec : specs)
    names.push_back(spec.name);
  return quotedList(names);
}

} // namespace writ
