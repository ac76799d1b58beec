//===- fuzz_gguf.cpp - any bytes as a GGUF model file ---------------------===//
#include "tests/fuzz/OpenAny.h"

#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // The magic is given, so that every input gets behind it.
  std::string file = "GGUF";
  file.append(reinterpret_cast<const char *>(data), size);
  writ::test::readAny(file.data(), file.size(), "fuzz.gguf");
  return 0;
}
