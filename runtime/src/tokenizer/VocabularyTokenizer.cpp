#include "VocabularyTokenizer.h"

namespace writ {

static constexpr std::string_view hexDigits = "0123456789ABCDEF";

std::string byteEntry(uint8_t byte) {
  return {'<', '0', 'x', hexDigits[byte >> 4], hexDigits[byte & 15], '>'};
}

int byteOfEntry(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>')
    return -1;
  size_t high = hexDigits.find(text[3]), low = hexDigits.find(text[4]);
  return high == std::string_view::npos || low == std::string_view::npos
             ? -1
             : static_cast<int>(high << 4 | low);
}

VocabularyTokenizer::VocabularyTokenizer(TokenizerData given)
    : values(std::move(given)), specialTokens(values) {
  ids.reserve(values.tokens.size());
  for (size_t i = 0; i < values.tokens.size(); ++i)
    if (!values.tokens[i].empty())
      ids.emplace(values.tokens[i], static_cast<int32_t>(i));
}

TokenType VocabularyTokenizer::typeOf(int32_t id) const {
  return values.types.empty() ? TokenType::normal
                              : static_cast<TokenType>(values.types[static_cast<size_t>(id)]);
}

int32_t VocabularyTokenizer::idOf(std::string_view text) const {
  auto found = ids.find(text);
  return found == ids.end() ? -1 : found->second;
}

std::vector<int32_t> VocabularyTokenizer::encodeSegments(std::span<const TextSegment> segments,
                                                         bool addSpecial) const {
  std::string joined;
  for (const TextSegment &segment : segments)
    joined += segment.text;
  std::vector<int32_t> out;
  if (addSpecial && values.addBos)
    out.push_back(values.bos);
  bool first = true;
  for (const SpecialTokens::Part &part : specialTokens.partition(joined, segments)) {
    if (part.id >= 0)
      out.push_back(part.id);
    else
      encodePlain(std::string_view(joined).substr(part.begin, part.end - part.begin), first, out);
    first = part.id >= 0;
  }
  if (addSpecial && values.addEos)
    out.push_back(values.eos);
  return out;
}

std::string VocabularyTokenizer::piece(int32_t id, bool special) const {
  if (id < 0 || static_cast<size_t>(id) >= values.tokens.size())
    return {};
  const std::string &text = values.tokens[static_cast<size_t>(id)];
  switch (typeOf(id)) {
  case TokenType::normal:
    return spell(text);
  case TokenType::control:
  case TokenType::unknown:
    return special ? text : std::string();
  case TokenType::userDefined:
    return text;
  case TokenType::byte: // checked: "<0xNN>"
    return {static_cast<char>(byteOfEntry(text))};
  case TokenType::unused:
    break;
  }
  return {};
}

} // namespace writ
