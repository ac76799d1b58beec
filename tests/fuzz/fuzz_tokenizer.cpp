//===- fuzz_tokenizer.cpp - any bytes as a tokenizer, and as its text -----===//
//
// The bytes are tried as tokenizer.json and as tokenizer.bin, whose tokenizer must then take them
// as a text, and as a text for two small tokenizers: what they encode, streams back as text of
// bounded length. Merging by scores is compared with the rule stated plainly.
//
//===----------------------------------------------------------------------===//
#include "tests/tokenizer/PlainMerges.h"
#include "writ/tokenizer.h"

#include <cstdlib>

namespace {

/// Byte-level BPE whose vocabulary is the 256 byte letters: every text has ids.
std::unique_ptr<writ::Tokenizer> byteTokenizer() {
  writ::TokenizerData data;
  data.model = "gpt2";
  data.preTokenizer = "gpt-2";
  for (int byte = 0, shifted = 256; byte < 256; ++byte) {
    const bool printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte != 173);
    const int letter = printable ? byte : shifted++;
    std::string token;
    if (letter < 0x80) {
      token += char(letter);
    } else {
      token += char(0xc0 | letter >> 6);
      token += char(0x80 | (letter & 0x3f));
    }
    data.tokens.push_back(token);
  }
  std::string error;
  auto tokenizer = writ::makeTokenizer(data, &error);
  if (!tokenizer)
    std::abort();
  return tokenizer;
}

/// Scores over a few letters: spaces inside and between tokens, ties, a character in many bytes.
std::unique_ptr<writ::Tokenizer> scoredTokenizer() {
  writ::TokenizerData data;
  data.model = "llama";
  auto add = [&](const std::string &token, writ::TokenType type, float score) {
    data.tokens.push_back(token);
    data.types.push_back(static_cast<int32_t>(type));
    data.scores.push_back(score);
  };
  for (int byte = 0; byte < 256; ++byte) {
    const char *hex = "0123456789ABCDEF";
    add({'<', '0', 'x', hex[byte >> 4], hex[byte & 15], '>'}, writ::TokenType::byte, 0);
  }
  const char *const texts[] = {
      "\u2581", "a",   "b",  "t",       "h",      "e",         "th",
      "he",     "the", "ab", "ba",      "aba",    "\u2581the", "\u2581\u2581",
      "aa",     "aaa", "é",  "e\u2581", "\u2581t"};
  for (size_t i = 0; i < std::size(texts); ++i)
    add(texts[i], writ::TokenType::normal, static_cast<float>(i * 7 % 5));
  std::string error;
  auto tokenizer = writ::makeTokenizer(data, &error);
  if (!tokenizer)
    std::abort();
  return tokenizer;
}

void roundTrip(const writ::Tokenizer &tokenizer, std::string_view text) {
  writ::StreamingDecoder decoder;
  std::string whole, streamed;
  for (int32_t id : tokenizer.encode(text, {false, false})) {
    const std::string piece = tokenizer.piece(id, true);
    whole += piece;
    streamed += decoder.push(piece);
  }
  streamed += decoder.finish();
  // A byte that belongs to no character becomes U+FFFD, three bytes.
  if (streamed.size() > 3 * whole.size())
    std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char *>(bytes), size);
  writ::TokenizerData data;
  std::string error;
  if (writ::readTokenizerData(text, &data, &error))
    if (auto tokenizer = writ::makeTokenizer(data, &error))
      roundTrip(*tokenizer, text);
  if (auto tokenizer = writ::openTokenizer(text, &error))
    roundTrip(*tokenizer, text);

  static const auto bytesOnly = byteTokenizer(), scored = scoredTokenizer();
  static const writ::TokenizerData scoredData = scored->data();
  roundTrip(*bytesOnly, text);
  roundTrip(*scored, text);
  const std::string_view head = text.substr(0, 128); // the plain rule is quadratic
  if (scored->encode(head, {false, false}) != writ::test::mergePlainly(scoredData, head, false))
    std::abort();
  return 0;
}
