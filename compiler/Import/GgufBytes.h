//===- GgufBytes.h - the bytes of a GGUF file, read front to back ---------===//
//
// What the sections of the format share: a position, the checked reading of one value, and the name
// of the field that a refusal gives. Each section has a file: header (GgufReader.cpp), metadata
// (GgufMetadata.cpp), tensor infos (GgufTensors.cpp).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Import/ModelReaders.h"
#include "compiler/Support/Utf8.h"

#include <bit>
#include <cstring>
#include <fmt/format.h>

namespace writ {

static_assert(std::endian::native == std::endian::little, "values are read as they lie");

/// Reads from `position` on. Nothing is trusted: whatever does not fit into the bytes that are left
/// is refused (E021, E022), and a view into the file is all that a string costs.
class GgufBytes {
public:
  GgufBytes(std::span<const std::byte> bytes, const std::string &path) : bytes(bytes), path(path) {}

  uint64_t size() const { return bytes.size(); }
  uint64_t left() const { return bytes.size() - position; }

  [[noreturn]] void refuse(const char *code, const std::string &problem, uint64_t offset,
                           const std::string &field) const {
    refuseField(path, code, problem, offset, field);
  }

  /// The field of the entry that is being read: "metadata_kv[3].value".
  std::string fieldName(const char *field, int64_t element = -1) const {
    std::string name = section ? fmt::format("{}[{}].{}", section, index, field) : field;
    return element < 0 ? name : fmt::format("{}[{}]", name, element);
  }

  void need(uint64_t count, const char *field, int64_t element) const {
    if (left() < count)
      refuse("E021",
             fmt::format("the file ends early: {} bytes are needed, {} are left", count, left()),
             position, fieldName(field, element));
  }

  template <typename T> T read(const char *field, int64_t element = -1) {
    need(sizeof(T), field, element);
    T value;
    std::memcpy(&value, bytes.data() + position, sizeof(T));
    position += sizeof(T);
    return value;
  }

  bool readBool(const char *field, int64_t element = -1) {
    auto value = read<uint8_t>(field, element);
    if (value > 1)
      refuse("E023", fmt::format("a bool has the value {}, must be 0 or 1", value), position - 1,
             fieldName(field, element));
    return value != 0;
  }

  /// A string as it lies in the file.
  std::string_view readString(const char *field, int64_t element = -1) {
    uint64_t start = position;
    auto length = read<uint64_t>(field, element);
    if (length > left())
      refuse("E022",
             fmt::format("a string of {} bytes does not fit into the {} bytes that are left",
                         length, left()),
             start, fieldName(field, element));
    std::string_view text(reinterpret_cast<const char *>(bytes.data()) + position, length);
    position += length;
    return text;
  }

  /// A key or the name of a tensor.
  std::string_view readName(const char *field) {
    uint64_t start = position;
    std::string_view name = readString(field);
    if (name.empty() || name.size() > longestName)
      refuse("E023", fmt::format("a name of {} bytes, must have 1 to {}", name.size(), longestName),
             start, fieldName(field));
    if (!isUtf8(name))
      refuse("E023", fmt::format("the name '{}' is not UTF-8", printable(name)), start,
             fieldName(field));
    return name;
  }

  uint64_t position = 0;
  const char *section = nullptr; ///< with `index`: which entry is being read
  uint64_t index = 0;

private:
  static constexpr uint64_t longestName = 65535; ///< the format's limit for a key

  std::span<const std::byte> bytes;
  const std::string &path;
};

/// The least that one takes. Key: length, one byte, type, one byte. Tensor: length, one byte,
/// n_dims, one extent, type, offset.
constexpr uint64_t kLeastGgufEntry = 8 + 1 + 4 + 1;
constexpr uint64_t kLeastGgufTensor = 8 + 1 + 4 + 8 + 4 + 8;

std::vector<MetadataEntry> readGgufMetadata(GgufBytes &in, uint64_t count);
/// Reads `count` infos, as listed, and checks where their bytes lie: what is returned has offsets
/// in the file. `alignment` is a power of two.
std::vector<TensorInfo> readGgufTensors(GgufBytes &in, uint64_t count, uint64_t alignment);

} // namespace writ
