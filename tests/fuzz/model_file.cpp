//===- model_file.cpp - any bytes as GGUF or safetensors ------------------===//
//
// Whatever the bytes are, the file opens or Error is thrown, with memory in proportion to the file;
// every tensor of a file that opens can be read to its last byte.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/ModelFile.h"

#include <cstdlib>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  const int file = memfd_create("model", MFD_CLOEXEC);
  if (file < 0 || write(file, bytes, size) != ssize_t(size))
    std::abort();
  volatile unsigned sum = 0;
  try {
    const auto model = writ::openModelFile("/proc/self/fd/" + std::to_string(file));
    for (const writ::TensorInfo &tensor : model->tensors())
      for (std::byte byte : model->bytes(tensor))
        sum = sum + unsigned(byte);
  } catch (const writ::Error &) {
  }
  close(file);
  return 0;
}
