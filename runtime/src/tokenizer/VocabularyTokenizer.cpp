#include "VocabularyTokenizer.h"

#include <algorithm>

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

bool VocabularyTokenizer::endsGeneration(int32_t id) const {
  const std::span<const int32_t> ends = tables.endOfGeneration();
  return std::find(ends.begin(), ends.end(), id) != ends.end();
}

std::vector<int32_t> VocabularyTokenizer::encodeSegments(std::span<const TextSegment> segments,
                                                         bool addSpecial) const {
  std::string joined;
  for (const TextSegment &segment : segments)
    joined += segment.text;
  std::vector<int32_t> out;
  if (addSpecial && tables.has(addsBosFlag))
    out.push_back(bos());
  bool first = true;
  for (const SpecialTokens::Part &part : specialTokens.partition(joined, segments)) {
    if (part.id >= 0)
      out.push_back(part.id);
    else
      encodePlain(std::string_view(joined).substr(part.begin, part.end - part.begin), first, out);
    first = part.id >= 0;
  }
  if (addSpecial && tables.has(addsEosFlag))
    out.push_back(eos());
  return out;
}

std::string VocabularyTokenizer::piece(int32_t id, bool special) const {
  if (id < 0 || id >= size())
    return {};
  const std::string_view text = tables.token(id);
  switch (tables.type(id)) {
  case TokenType::normal:
    return spell(text);
  case TokenType::control:
  case TokenType::unknown:
    return std::string(special ? text : std::string_view());
  case TokenType::userDefined:
    return std::string(text);
  case TokenType::byte: // checked: "<0xNN>"
    return {static_cast<char>(byteOfEntry(text))};
  case TokenType::unused:
    break;
  }
  return {};
}

} // namespace writ
