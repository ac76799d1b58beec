//===- Utf8.cpp - checks on UTF-8 text ------------------------------------===//
#include "compiler/Support/Utf8.h"

namespace writ {

int32_t decodeUtf8(std::string_view text, size_t &position) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned first = byte(position);
  size_t start = position++;
  if (first < 0x80)
    return static_cast<int32_t>(first);
  unsigned length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() - start < length)
    return -1;
  uint32_t value = first & (0x7fu >> length);
  for (unsigned i = 1; i < length; ++i) {
    unsigned next = byte(start + i);
    if ((next & 0xc0) != 0x80)
      return -1;
    value = value << 6 | (next & 0x3f);
  }
  bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
  bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (overlong || surrogate || value > 0x10ffff)
    return -1;
  position = start + length;
  return static_cast<int32_t>(value);
}

bool isUtf8(std::string_view text) {
  for (size_t position = 0; position < text.size();)
    if (decodeUtf8(text, position) < 0)
      return false;
  return true;
}

std::string printable(std::string_view text, size_t limit) {
  constexpr char digits[] = "0123456789abcdef";
  std::string result;
  size_t count = 0;
  for (size_t position = 0; position < text.size();) {
    if (count++ == limit)
      return result + "…";
    size_t start = position;
    int32_t point = decodeUtf8(text, position);
    if (point == '\n')
      result += "\\n";
    else if (point == '\t')
      result += "\\t";
    else if (point < 0x20 || (point >= 0x7f && point < 0xa0))
      for (size_t i = start; i < position; ++i) {
        auto byte = static_cast<unsigned char>(text[i]);
        result += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
      }
    else
      result += text.substr(start, position - start);
  }
  return result;
}

} // namespace writ
