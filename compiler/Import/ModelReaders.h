//===- ModelReaders.h - what the readers of the file formats give ---------===//
#pragma once

#include "compiler/Import/ModelFile.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace writ {

/// What a reader has found in a file's bytes. Offsets are into these bytes.
struct ModelContents {
  std::string format;
  std::vector<MetadataEntry> entries;
  std::vector<TensorInfo> infos; ///< by file offset for safetensors, as listed for GGUF
};

/// `bytes` start with "GGUF". `path` is the name in diagnostics.
ModelContents readGguf(std::span<const std::byte> bytes, const std::string &path);
ModelContents readSafetensors(std::span<const std::byte> bytes, const std::string &path);

/// Throws "path: error: problem at byte N (field 'F') [code]".
[[noreturn]] void refuseField(const std::string &path, const char *code, const std::string &problem,
                              uint64_t offset, const std::string &field);

} // namespace writ
