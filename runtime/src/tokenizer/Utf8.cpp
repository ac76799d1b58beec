#include "Utf8.h"

namespace writ::utf8 {

static bool isContinuation(unsigned char byte) {
  return (byte & 0xC0) == 0x80;
}

Sequence readSequence(std::string_view bytes) {
  using State = Sequence::State;
  auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  unsigned char lead = byte(0);
  if (lead < 0x80)
    return {State::character, 1};
  if (lead < 0xC2 || lead > 0xF4)
    return {State::invalid, 1};
  size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (bytes.size() < 2)
    return {State::incomplete, 1};
  // The second byte alone decides on overlong forms, surrogates and the upper end.
  unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < low || byte(1) > high)
    return {State::invalid, 1};
  for (size_t i = 2; i < length; ++i) {
    if (i == bytes.size())
      return {State::incomplete, i};
    if (!isContinuation(byte(i)))
      return {State::invalid, i};
  }
  return {State::character, length};
}

bool isValid(std::string_view bytes) {
  for (size_t i = 0; i < bytes.size();) {
    if (static_cast<unsigned char>(bytes[i]) < 0x80) {
      ++i;
      continue;
    }
    Sequence sequence = readSequence(bytes.substr(i));
    if (sequence.state != Sequence::State::character)
      return false;
    i += sequence.length;
  }
  return true;
}

void append(std::string &out, uint32_t codePoint) {
  auto put = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (codePoint < 0x80) {
    put(codePoint);
  } else if (codePoint < 0x800) {
    put(0xC0 | codePoint >> 6);
    put(0x80 | (codePoint & 0x3F));
  } else if (codePoint < 0x10000) {
    put(0xE0 | codePoint >> 12);
    put(0x80 | (codePoint >> 6 & 0x3F));
    put(0x80 | (codePoint & 0x3F));
  } else {
    put(0xF0 | codePoint >> 18);
    put(0x80 | (codePoint >> 12 & 0x3F));
    put(0x80 | (codePoint >> 6 & 0x3F));
    put(0x80 | (codePoint & 0x3F));
  }
}

uint32_t readLenient(std::string_view bytes, size_t &position) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  size_t start = position++;
  unsigned char lead = byte(start);
  if (lead < 0x80)
    return lead;
  size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC0 || lead >= 0xF8 || bytes.size() - start < length)
    return 0xFFFD;
  uint32_t codePoint = lead & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if (!isContinuation(byte(start + i)))
      return 0xFFFD;
    codePoint = codePoint << 6 | (byte(start + i) & 0x3F);
  }
  if (codePoint > 0x10FFFF)
    return 0xFFFD;
  position = start + length;
  return codePoint;
}

std::string repair(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (size_t i = 0; i < bytes.size();)
    append(out, readLenient(bytes, i));
  return out;
}

} // namespace writ::utf8
