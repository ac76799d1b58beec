//===- GgufBuilder.h - makes GGUF files in memory, good ones and bad ones -===//
//
//   GgufBuilder builder;
//   builder.add("general.architecture", "llama").add("llama.block_count", uint32_t{2});
//   builder.tensor("token_embd.weight", "q8_0", {256, 64}, bytes);   // [rows, columns]
//   std::string file = builder.build();
//
// Every field's place is recorded under the name that the reader's diagnostics use, so that a test
// can pin a position and spoil a field: builder.patch<uint64_t>(file, "tensor_infos[0].dims[1]",
// 0).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Import/ModelFile.h"

#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace writ::test {

class GgufBuilder {
public:
  explicit GgufBuilder(uint32_t version = 3) : version(version) {}

  /// Alignment of the data section and of tensors; written as general.alignment by add(), not here.
  GgufBuilder &align(uint64_t bytes) {
    alignment = bytes;
    return *this;
  }

  /// A scalar of the C++ type: bool, intN_t, uintN_t, float, double.
  template <typename T>
  requires std::is_arithmetic_v<T> GgufBuilder &add(const std::string &key, T value) {
    return addRaw(key, typeId<T>(), raw(value));
  }
  GgufBuilder &add(const std::string &key, const std::string &value) {
    return addRaw(key, stringType, withLength(value));
  }
  GgufBuilder &add(const std::string &key, const char *value) {
    return add(key, std::string(value));
  }
  template <typename T> GgufBuilder &add(const std::string &key, const std::vector<T> &values) {
    std::string bytes = raw(typeId<T>()) + raw(uint64_t{values.size()});
    for (const auto &value : values)
      if constexpr (std::is_same_v<T, std::string>)
        bytes += withLength(value);
      else
        bytes += raw(static_cast<T>(value));
    return addRaw(key, arrayType, bytes);
  }
  /// Any value type with any bytes. Types are those of the format: 0 u8, 1 i8, 2 u16, 3 i16, 4 u32,
  /// 5 i32, 6 f32, 7 bool, 8 string, 9 array, 10 u64, 11 i64, 12 f64.
  GgufBuilder &addRaw(const std::string &key, uint32_t type, const std::string &bytes) {
    entries.push_back({key, type, bytes});
    return *this;
  }

  size_t entryCount() const { return entries.size(); }
  /// Gives an entry a value of another type and other bytes, or that of another entry.
  void replaceValue(size_t entry, uint32_t type, const std::string &bytes) {
    entries.at(entry).type = type;
    entries.at(entry).bytes = bytes;
  }
  void copyValue(size_t from, size_t to) {
    replaceValue(to, entries.at(from).type, std::string(entries.at(from).bytes));
  }
  /// The place of a key among the entries.
  size_t entryOf(const std::string &key) const {
    size_t entry = 0;
    while (entries.at(entry).key != key)
      ++entry;
    return entry;
  }
  void removeEntry(size_t entry) { entries.erase(entries.begin() + static_cast<long>(entry)); }

  /// A tensor of shape [.., rows, columns]; bytes may be left out (then they are zero). Its bytes
  /// come behind those of the tensor before.
  GgufBuilder &tensor(const std::string &name, const std::string &storage,
                      const std::vector<int64_t> &shape, const std::string &bytes = {}) {
    const StorageType *type = findStorageType(storage);
    if (!type)
      throw std::invalid_argument("no storage type " + storage);
    std::string content = bytes;
    if (content.empty()) {
      uint64_t elements = 1;
      for (int64_t extent : shape)
        elements *= static_cast<uint64_t>(extent);
      content.assign(elements / type->blockElements * type->blockBytes, '\0');
    }
    infos.push_back({name, type->ggufId, shape, std::move(content)});
    return *this;
  }

  /// The file's bytes. Places of fields are known afterwards.
  std::string build() {
    places.clear();
    out = "GGUF";
    field("version", raw(version));
    field("tensor_count", raw(uint64_t{infos.size()}));
    field("metadata_kv_count", raw(uint64_t{entries.size()}));
    for (size_t i = 0; i < entries.size(); ++i) {
      std::string prefix = "metadata_kv[" + std::to_string(i) + "].";
      field(prefix + "key", withLength(entries[i].key));
      field(prefix + "value_type", raw(entries[i].type));
      field(prefix + "value", entries[i].bytes);
    }
    uint64_t offset = 0;
    for (size_t i = 0; i < infos.size(); ++i) {
      std::string prefix = "tensor_infos[" + std::to_string(i) + "].";
      const Tensor &tensor = infos[i];
      field(prefix + "name", withLength(tensor.name));
      field(prefix + "n_dims", raw(static_cast<uint32_t>(tensor.shape.size())));
      for (size_t d = 0; d < tensor.shape.size(); ++d) // the contiguous one first
        field(prefix + "dims[" + std::to_string(d) + "]",
              raw(tensor.shape[tensor.shape.size() - 1 - d]));
      field(prefix + "type", raw(tensor.type));
      field(prefix + "offset", raw(offset));
      offset = aligned(offset + tensor.bytes.size());
    }
    places["end of infos"] = out.size();
    if (!infos.empty())
      out.resize(aligned(out.size()));
    places["data"] = out.size();
    uint64_t start = out.size();
    for (const Tensor &tensor : infos) {
      out.resize(start + aligned(out.size() - start));
      out += tensor.bytes;
    }
    return out;
  }

  /// Where a field starts in the file that build() made last.
  uint64_t place(const std::string &name) const { return places.at(name); }
  const std::map<std::string, uint64_t> &allPlaces() const { return places; }

  /// Overwrites a field of a built file.
  template <typename T> void patch(std::string &file, const std::string &name, T value) const {
    std::memcpy(file.data() + place(name), &value, sizeof(T));
  }

  /// A string as GGUF writes it: length, bytes.
  static std::string withLength(const std::string &text) {
    return raw(uint64_t{text.size()}) + text;
  }
  template <typename T> static std::string raw(T value) {
    std::string bytes(sizeof(T), '\0');
    std::memcpy(bytes.data(), &value, sizeof(T));
    return bytes;
  }

private:
  struct Entry {
    std::string key;
    uint32_t type;
    std::string bytes;
  };
  struct Tensor {
    std::string name;
    uint32_t type;
    std::vector<int64_t> shape;
    std::string bytes;
  };

  static constexpr uint32_t stringType = 8, arrayType = 9;

  template <typename T> static constexpr uint32_t typeId() {
    if constexpr (std::is_same_v<T, std::string>)
      return stringType;
    else if constexpr (std::is_same_v<T, bool>)
      return 7;
    else if constexpr (std::is_floating_point_v<T>)
      return sizeof(T) == 4 ? 6 : 12;
    else if constexpr (sizeof(T) == 8)
      return std::is_signed_v<T> ? 11 : 10;
    else
      return (sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 2 : 4) + (std::is_signed_v<T> ? 1 : 0);
  }

  uint64_t aligned(uint64_t offset) const {
    return (offset + alignment - 1) / alignment * alignment;
  }

  void field(const std::string &name, const std::string &bytes) {
    places[name] = out.size();
    out += bytes;
  }

  uint32_t version;
  uint64_t alignment = 32;
  std::vector<Entry> entries;
  std::vector<Tensor> infos;
  std::string out;
  std::map<std::string, uint64_t> places;
};

/// The bytes of a built file, for openModelBytes.
inline std::span<const std::byte> bytesOf(const std::string &file) {
  return std::as_bytes(std::span(file.data(), file.size()));
}

} // namespace writ::test
