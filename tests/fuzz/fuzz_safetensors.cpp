//===- fuzz_safetensors.cpp - any bytes as a safetensors file -------------===//
#include "tests/fuzz/OpenAny.h"

#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // The input is a header and, behind its first line break, the tensors' bytes: the header's length
  // is put before it, so that the fuzzer does not have to guess it.
  std::string_view text(reinterpret_cast<const char *>(data), size);
  size_t end = std::min(text.find('\n'), size);
  uint64_t length = end;
  std::string file(reinterpret_cast<const char *>(&length), sizeof(length));
  file += text.substr(0, end);
  file += text.substr(std::min(end + 1, size));
  writ::test::openAny(file.data(), file.size(), "fuzz.safetensors");
  return 0;
}
