//===- fuzz_json.cpp - any bytes as JSON, and as an expression ------------===//
#include "compiler/Support/Expression.h"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  try {
    writ::Json json = writ::parseJson(text, "fuzz.json");
    // What is read is JSON with the same value; the positions are inside the text.
    if (json.plain() != nlohmann::json::parse(text) || json.location().line == 0)
      std::abort();
    writ::canonicalJson(json.plain());
    if (json.isString())
      writ::evaluateExpression(json, [](std::string_view name) -> std::optional<writ::Value> {
        return static_cast<int64_t>(name.size());
      });
  } catch (const writ::Error &) {
  }
  return 0;
}
