//===- CanonicalJson.cpp - JSON text that is the same for the same value --===//
//
// RFC 8785. Section 3.2.2.2 gives the escapes, 3.2.2.3 the numbers (ECMAScript's Number::toString),
// 3.2.3 the order of keys.
//
//===----------------------------------------------------------------------===//
#include "compiler/Support/Json.h"

#include "compiler/Support/Utf8.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>

namespace writ {

[[noreturn]] static void noCanonicalText(const std::string &problem) {
  throw Error(Location{}, "E017", problem + ", which canonical JSON (RFC 8785) cannot write");
}

static void writeString(const std::string &text, std::string &out) {
  if (!isUtf8(text))
    noCanonicalText(fmt::format("string '{}' is not UTF-8", printable(text)));
  out += '"';
  for (char c : text) {
    switch (c) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\b':
      out += "\\b";
      break;
    case '\t':
      out += "\\t";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\f':
      out += "\\f";
      break;
    case '\r':
      out += "\\r";
      break;
    default:
      if (static_cast<unsigned char>(c) < 0x20)
        out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
      else
        out += c;
    }
  }
  out += '"';
}

/// ECMAScript's Number::toString: the shortest digits d1 d2 … dk that give the value back, written
/// plainly while the decimal point lies in (-6, 21], and with an exponent otherwise.
static void writeNumber(double value, std::string &out) {
  if (!std::isfinite(value))
    noCanonicalText(fmt::format("number {} is not finite", value));
  if (value == 0) { // minus zero too
    out += '0';
    return;
  }
  if (value < 0) {
    out += '-';
    value = -value;
  }
  char buffer[32];
  auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific).ptr;
  std::string_view text(buffer, static_cast<size_t>(end - buffer));
  size_t e = text.find('e');
  std::string digits(1, text[0]);
  if (e > 2)
    digits += text.substr(2, e - 2);
  int point = std::atoi(std::string(text.substr(e + 1)).c_str()) + 1; // value = 0.digits × 10^point
  int count = static_cast<int>(digits.size());
  if (point > 21 || point <= -6) {
    out += digits[0];
    if (count > 1)
      out += "." + digits.substr(1);
    out += fmt::format("e{:+}", point - 1);
  } else if (point <= 0) {
    out += "0." + std::string(static_cast<size_t>(-point), '0') + digits;
  } else if (point >= count) {
    out += digits + std::string(static_cast<size_t>(point - count), '0');
  } else {
    auto split = static_cast<size_t>(point);
    out += digits.substr(0, split) + "." + digits.substr(split);
  }
}

/// Integers take the double's text, so 1 and 1.0 are one value; one that a double would round is
/// refused rather than changed.
template <typename Integer> static void writeInteger(Integer value, std::string &out) {
  constexpr auto largest = int64_t{1} << 53;
  bool exact = value <= static_cast<Integer>(largest);
  if constexpr (std::is_signed_v<Integer>)
    exact = exact && value >= -largest;
  if (!exact)
    noCanonicalText(fmt::format("integer {} is beyond 2^53", value));
  out += fmt::format("{}", value);
}

static std::u16string utf16(const std::string &text) {
  std::u16string units;
  for (size_t position = 0; position < text.size();) {
    int32_t point = decodeUtf8(text, position);
    if (point >= 0x10000) {
      units += static_cast<char16_t>(0xd800 + ((point - 0x10000) >> 10));
      units += static_cast<char16_t>(0xdc00 + ((point - 0x10000) & 0x3ff));
    } else {
      units += static_cast<char16_t>(point);
    }
  }
  return units;
}

static void writeValue(const nlohmann::json &value, std::string &out);

static void writeObject(const nlohmann::json &value, std::string &out) {
  using Member = std::pair<std::u16string, nlohmann::json::const_iterator>;
  std::vector<Member> members;
  for (auto it = value.begin(); it != value.end(); ++it)
    members.emplace_back(utf16(it.key()), it);
  std::sort(members.begin(), members.end(),
            [](const Member &a, const Member &b) { return a.first < b.first; });
  const char *separator = "{";
  for (const Member &member : members) {
    out += separator;
    writeString(member.second.key(), out);
    out += ':';
    writeValue(*member.second, out);
    separator = ",";
  }
  out += members.empty() ? "{}" : "}";
}

static void writeValue(const nlohmann::json &value, std::string &out) {
  switch (value.type()) {
  case nlohmann::json::value_t::null:
    out += "null";
    break;
  case nlohmann::json::value_t::boolean:
    out += value.get<bool>() ? "true" : "false";
    break;
  case nlohmann::json::value_t::number_integer:
    writeInteger(value.get<int64_t>(), out);
    break;
  case nlohmann::json::value_t::number_unsigned:
    writeInteger(value.get<uint64_t>(), out);
    break;
  case nlohmann::json::value_t::number_float:
    writeNumber(value.get<double>(), out);
    break;
  case nlohmann::json::value_t::string:
    writeString(value.get_ref<const std::string &>(), out);
    break;
  case nlohmann::json::value_t::array: {
    const char *separator = "[";
    for (const nlohmann::json &element : value) {
      out += separator;
      writeValue(element, out);
      separator = ",";
    }
    out += value.empty() ? "[]" : "]";
    break;
  }
  case nlohmann::json::value_t::object:
    writeObject(value, out);
    break;
  case nlohmann::json::value_t::binary:
  case nlohmann::json::value_t::discarded:
    noCanonicalText("the value is not JSON");
  }
}

std::string canonicalJson(const nlohmann::json &value) {
  std::string out;
  writeValue(value, out);
  return out;
}

/// Throws E017 at the first scalar that has no canonical text.
static void refuseAtItsPlace(const Json &value) {
  if (value.isArray()) {
    for (const Json &element : value.elements())
      refuseAtItsPlace(element);
  } else if (value.isObject()) {
    for (const Json::Member &member : value.members())
      refuseAtItsPlace(member.value);
  } else {
    try {
      canonicalJson(value.plain());
    } catch (const Error &error) {
      throw Error(value.location(), "E017", error.diagnostics().front().message);
    }
  }
}

std::string canonicalDocument(const Json &document) {
  try {
    return canonicalJson(document.plain());
  } catch (const Error &) {
    refuseAtItsPlace(document);
    throw;
  }
}

} // namespace writ
