#include "ByteAlphabet.h"
#include "Utf8.h"

namespace writ {

ByteAlphabet::ByteAlphabet() {
  bytes.fill(-1);
  uint32_t next = 256;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
    uint32_t codePoint = printable ? byte : next++;
    utf8::append(characters[byte], codePoint);
    bytes[codePoint] = static_cast<int16_t>(byte);
  }
}

std::string ByteAlphabet::bytesOf(std::string_view text) const {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    size_t start = i;
    uint32_t codePoint = utf8::readLenient(text, i);
    if (codePoint < limit && bytes[codePoint] >= 0)
      out.push_back(static_cast<char>(bytes[codePoint]));
    else
      out.append(text.substr(start, i - start));
  }
  return out;
}

} // namespace writ
