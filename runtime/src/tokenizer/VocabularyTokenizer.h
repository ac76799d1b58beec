//===- VocabularyTokenizer.h - what all tokenizer models have in common ----===//
#pragma once

#include "SpecialTokens.h"
#include "TokenizerTables.h"

#include <string>
#include <string_view>
#include <vector>

namespace writ {

/// A vocabulary with special tokens: a text is cut at the tokens that it spells literally, and a
/// model has only to say how it encodes the text between them, and what a normal token spells.
class VocabularyTokenizer : public Tokenizer {
public:
  explicit VocabularyTokenizer(TokenizerTables given)
      : tables(std::move(given)), specialTokens(tables) {}

  std::vector<int32_t> encodeSegments(std::span<const TextSegment> segments,
                                      bool addSpecial) const final;
  std::string piece(int32_t id, bool special) const final;
  int32_t size() const final { return tables.size(); }
  int32_t bos() const final { return tables.header().bos; }
  int32_t eos() const final { return tables.header().eos; }
  bool endsGeneration(int32_t id) const final;
  TokenizerData data() const final { return tables.data(); }

protected:
  /// Appends the ids of `text`, which is not empty and spells no special token. `first`: nothing
  /// stands before it, or a special token does.
  virtual void encodePlain(std::string_view text, bool first, std::vector<int32_t> &ids) const = 0;
  /// The bytes that a normal token stands for, given its entry in the vocabulary.
  virtual std::string spell(std::string_view entry) const = 0;

  const TokenizerTables tables;

private:
  SpecialTokens specialTokens;
};

/// "<0xNN>", the entry of a token that stands for one byte.
std::string byteEntry(uint8_t byte);
/// The byte of such an entry, -1 where `text` is not written so.
int byteOfEntry(std::string_view text);

} // namespace writ
