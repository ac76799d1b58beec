//===- fuzz_tokenizer.cpp - any bytes as a tokenizer, and as its text -----===//
//
// The bytes are tried as tokenizer.json, and as a text for a small tokenizer: what it encodes,
// streams back as text of bounded length.
//
//===----------------------------------------------------------------------===//
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
  auto tokenizer = writ::makeTokenizer(std::move(data), &error);
  if (!tokenizer)
    std::abort();
  return tokenizer;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char *>(bytes), size);
  writ::TokenizerData data;
  std::string error;
  if (writ::readTokenizerData(text, &data, &error))
    writ::makeTokenizer(std::move(data), &error);

  static const auto tokenizer = byteTokenizer();
  writ::StreamingDecoder decoder;
  std::string whole, streamed;
  for (int32_t id : tokenizer->encode(text, {false, false})) {
    const std::string piece = tokenizer->piece(id, true);
    whole += piece;
    streamed += decoder.push(piece);
  }
  streamed += decoder.finish();
  // A byte that belongs to no character becomes U+FFFD, three bytes.
  if (streamed.size() > 3 * whole.size())
    std::abort();
  return 0;
}
