//===- ByteAlphabet.h - bytes as printable characters -----------------------===//
//
// Byte-level vocabularies (GPT-2) write each byte as one character: printable Latin-1 characters
// stand for themselves, the 68 others, in order, for U+0100, U+0101 …
//
//===----------------------------------------------------------------------===//
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace writ {

class ByteAlphabet {
public:
  ByteAlphabet();
  const std::string &character(uint8_t byte) const { return characters[byte]; }
  /// The bytes that a token's text spells; a character outside the alphabet stays as it is.
  std::string bytesOf(std::string_view text) const;

private:
  static constexpr uint32_t limit = 256 + 68;
  std::array<std::string, 256> characters;
  std::array<int16_t, limit> bytes; ///< by code point; -1 where it stands for none
};

} // namespace writ
