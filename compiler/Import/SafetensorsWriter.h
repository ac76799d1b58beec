//===- SafetensorsWriter.h - a safetensors file, written in order ---------===//
//
// For files that do not fit into memory beside their source: the shapes are known first, the bytes
// come later, piece by piece.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Support/FileIO.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace writ {

/// A tensor to be written.
struct SafetensorsEntry {
  std::string name;
  std::string dtype; ///< a safetensors type: "F32", "F64", "U8" …
  std::vector<int64_t> shape;
};

/// Writes the header when made, then takes the tensors' bytes in the order of the entries. Each
/// tensor begins at a multiple of `alignment` of the file; the gaps are covered by "__pad<i>" U8
/// tensors, as the format leaves no holes. The file appears at commit(), whole, or not at all.
/// Errors: E029 (an entry that the format cannot hold, bytes that do not come out), E002.
class SafetensorsWriter {
public:
  SafetensorsWriter(const std::string &path, const std::vector<SafetensorsEntry> &entries,
                    const std::vector<std::pair<std::string, std::string>> &metadata = {},
                    size_t alignment = 64);

  void write(std::string_view bytes);
  void commit();

  /// Of the data section's first byte, in the file.
  uint64_t dataOffset() const { return dataStart; }
  /// Of tensor `index` in the data section.
  uint64_t offset(size_t index) const { return spans[index].begin; }
  uint64_t dataBytes() const { return spans.empty() ? 0 : spans.back().end; }
  /// What has to be written for tensor `index`.
  uint64_t bytes(size_t index) const { return spans[index].end - spans[index].begin; }

private:
  struct Span {
    uint64_t begin, end;
  };
  void pad(uint64_t to);

  std::string path;
  AtomicFile file;
  std::vector<Span> spans;
  uint64_t dataStart = 0, position = 0;
  size_t current = 0; ///< the tensor that is being written
};

} // namespace writ
