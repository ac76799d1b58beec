//===- VocabularyTokenizer.h - what all tokenizer models have in common ----===//
#pragma once

#include "SpecialTokens.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace writ {

/// A vocabulary with special tokens: a text is cut at the tokens that it spells literally, and a
/// model has only to say how it encodes the text between them, and what a normal token spells.
class VocabularyTokenizer : public Tokenizer {
public:
  explicit VocabularyTokenizer(TokenizerData given);

  std::vector<int32_t> encodeSegments(std::span<const TextSegment> segments,
                                      bool addSpecial) const final;
  std::string piece(int32_t id, bool special) const final;
  const TokenizerData &data() const final { return values; }

protected:
  /// Appends the ids of `text`, which is not empty and spells no special token. `first`: nothing
  /// stands before it, or a special token does.
  virtual void encodePlain(std::string_view text, bool first, std::vector<int32_t> &ids) const = 0;
  /// The bytes that a normal token stands for, given its entry in the vocabulary.
  virtual std::string spell(const std::string &entry) const = 0;

  TokenType typeOf(int32_t id) const;
  /// -1 where no token has this text; empty tokens are never found.
  int32_t idOf(std::string_view text) const;

  const TokenizerData values;

private:
  SpecialTokens specialTokens;
  std::unordered_map<std::string_view, int32_t> ids; ///< views into values.tokens
};

/// "<0xNN>", the entry of a token that stands for one byte.
std::string byteEntry(uint8_t byte);
/// The byte of such an entry, -1 where `text` is not written so.
int byteOfEntry(std::string_view text);

} // namespace writ
