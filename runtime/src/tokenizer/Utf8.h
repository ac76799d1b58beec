//===- Utf8.h - bytes to characters and back ------------------------------===//
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace writ::utf8 {

/// What stands at the start of a byte string.
struct Sequence {
  enum class State {
    character,  ///< a whole, well-formed character
    incomplete, ///< the bytes end inside a character that could still become one
    invalid     ///< no continuation makes these bytes a character
  };
  State state;
  size_t
      length; ///< bytes of the character, or of the longest part that could have begun one (>= 1)
};

/// Reads one sequence of non-empty `bytes` (RFC 3629: shortest form, no surrogates, at most
/// U+10FFFF; an ill-formed part is a maximal subpart, Unicode 15 section 3.9).
Sequence readSequence(std::string_view bytes);

bool isValid(std::string_view bytes);

void append(std::string &out, uint32_t codePoint);

/// Reads one code point at `position` as llama.cpp's tokenizer does, and moves behind it: overlong
/// forms and surrogates are read as the number they spell; any other ill-formed byte is U+FFFD and
/// moves by one. A number above U+10FFFF (which llama.cpp cannot take) is U+FFFD for its first
/// byte.
uint32_t readLenient(std::string_view bytes, size_t &position);

/// `bytes` with each code point as readLenient reads it, written in its shortest form. Surrogates
/// keep their three bytes, so the result is valid UTF-8 but for these.
std::string repair(std::string_view bytes);

inline constexpr std::string_view replacement = "\xEF\xBF\xBD"; ///< U+FFFD

} // namespace writ::utf8
