//===- json.cpp - any bytes as JSON ---------------------------------------===//
//
// Whatever the bytes are, the reader gives a document or throws Error; what it accepts survives
// being printed and read again.
//
//===----------------------------------------------------------------------===//
#include "compiler/Support/Json.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  std::string text;
  try {
    const writ::Json document =
        writ::parseJson({reinterpret_cast<const char *>(bytes), size}, "fuzz.json");
    text = writ::canonicalJson(document.plain());
  } catch (const writ::Error &) {
    return 0;
  }
  if (writ::canonicalJson(writ::parseJson(text, "canonical.json").plain()) != text)
    std::abort();
  return 0;
}
