//===- TokenizerModels.h - the kinds of tokenizer -------------------------===//
#pragma once

#include "writ/tokenizer.h"

namespace writ {

/// Builds a tokenizer of one model. `data` has passed checkTokenizerData. Returns null and sets
/// `error` where the data break a rule of this model alone.
using TokenizerFactory = std::unique_ptr<Tokenizer>(TokenizerData data, std::string *error);

/// Byte-level byte-pair encoding (GPT-2): pre-tokenizer patterns, then merges by rank.
TokenizerFactory makeByteBpe;

/// Byte-pair encoding by scores (SentencePiece): characters, then merges, then byte tokens.
TokenizerFactory makeScoredBpe;

/// Rules that hold for every model: ids inside the vocabulary, lengths that agree, token texts that
/// are valid UTF-8 and distinct (empty ones excepted, which never match), finite scores.
bool checkTokenizerData(const TokenizerData &data, std::string *error);

/// "'a', 'b', 'c'", for messages that list what is known.
std::string quotedList(const std::vector<std::string_view> &names);
template <class Specs> std::string quotedNames(const Specs &specs) {
  std::vector<std::string_view> names;
  for (const auto &spec : specs)
    names.push_back(spec.name);
  return quotedList(names);
}

} // namespace writ
