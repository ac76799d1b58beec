//===- Utf8.h - checks on UTF-8 text --------------------------------------===//
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace writ {

/// The code point that starts at text[position], which moves behind it; -1 where the bytes there
/// are not well-formed UTF-8 (RFC 3629: shortest form, no surrogates, at most U+10FFFF), and then
/// the position moves by one byte.
int32_t decodeUtf8(std::string_view text, size_t &position);

bool isUtf8(std::string_view text);

/// `text` for a terminal: control characters and bytes that are not UTF-8 become \n, \t or \xNN,
/// and what exceeds `limit` code points becomes "…". A diagnostic prints foreign names this way.
std::string printable(std::string_view text, size_t limit = 64);

} // namespace writ
