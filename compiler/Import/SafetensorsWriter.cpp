//===- SafetensorsWriter.cpp - writes safetensors -------------------------===//
#include "compiler/Import/ModelFile.h"

#include "compiler/Support/FileIO.h"
#include "compiler/Support/Utf8.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unordered_set>

namespace writ {

namespace {

/// Bytes of one element of a dtype; 0 where it is unknown.
uint64_t elementBytes(std::string_view dtype) {
  std::string name(dtype);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  const StorageType *type = name == dtype ? nullptr : findStorageType(name);
  return type && type->blockElements == 1 ? type->blockBytes : 0;
}

std::string quoted(const std::string &text) {
  return nlohmann::json(text).dump();
}

void checkItem(const std::string &path, const SafetensorsItem &item,
               std::unordered_set<std::string> &names) {
  auto refuse = [&](const std::string &problem) {
    throw Error(Location{path}, "E029",
                fmt::format("cannot write tensor '{}': {}", printable(item.name), problem));
  };
  if (item.name.empty() || !isUtf8(item.name))
    refuse("its name must be UTF-8 and not empty");
  if (item.name.starts_with("__"))
    refuse("names that start with '__' are reserved");
  if (!names.insert(item.name).second)
    refuse("it occurs twice");
  uint64_t size = elementBytes(item.dtype);
  if (size == 0)
    refuse(fmt::format("unknown dtype '{}'", printable(item.dtype)));
  bool overflow = false;
  for (int64_t extent : item.shape)
    overflow = overflow || extent < 0 ||
               __builtin_mul_overflow(size, static_cast<uint64_t>(extent), &size);
  if (overflow || size != item.bytes.size())
    refuse(fmt::format("{} bytes are given, its shape and dtype ask for {}", item.bytes.size(),
                       overflow ? "more than 2^64" : std::to_string(size)));
}

std::string tensorEntry(const std::string &name, const std::string &dtype,
                        const std::vector<int64_t> &shape, uint64_t begin, uint64_t end) {
  return fmt::format("{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
                     quoted(name), dtype, fmt::join(shape, ","), begin, end);
}

} // namespace

void writeSafetensors(const std::string &path, std::span<const SafetensorsItem> items,
                      const std::vector<std::pair<std::string, std::string>> &metadata,
                      size_t alignment) {
  if (!std::has_single_bit(alignment) || alignment < 8)
    throw Error(
        Location{path}, "E029",
        fmt::format("cannot align tensors to {}: must be a power of two from 8 up", alignment));
  std::unordered_set<std::string> names, keys;
  std::vector<std::string> entries;
  for (const auto &[key, value] : metadata) {
    if (!isUtf8(key) || !isUtf8(value) || !keys.insert(key).second)
      throw Error(Location{path}, "E029",
                  fmt::format("cannot write metadata '{}': keys are unique, and all is UTF-8",
                              printable(key)));
    entries.push_back(quoted(key) + ":" + quoted(value));
  }
  std::string header = "{";
  if (!metadata.empty())
    header += fmt::format("\"__metadata__\":{{{}}}", fmt::join(entries, ","));

  // Offsets are those of the data section, whose start is aligned as well.
  uint64_t position = 0;
  std::vector<uint64_t> paddings; // before each item
  auto add = [&](const std::string &entry) { header += (header.size() > 1 ? "," : "") + entry; };
  for (const SafetensorsItem &item : items) {
    checkItem(path, item, names);
    uint64_t padding = (alignment - position % alignment) % alignment;
    if (padding != 0)
      add(tensorEntry(fmt::format("__pad{}", paddings.size()), "U8",
                      {static_cast<int64_t>(padding)}, position, position + padding));
    paddings.push_back(padding);
    position += padding;
    add(tensorEntry(item.name, item.dtype, item.shape, position, position + item.bytes.size()));
    position += item.bytes.size();
  }
  header += '}';
  while ((sizeof(uint64_t) + header.size()) % alignment != 0)
    header += ' ';

  AtomicFile file(path);
  uint64_t length = header.size();
  file.write({reinterpret_cast<const char *>(&length), sizeof(length)});
  file.write(header);
  for (size_t i = 0; i < items.size(); ++i) {
    file.write(std::string(paddings[i], '\0'));
    file.write({reinterpret_cast<const char *>(items[i].bytes.data()), items[i].bytes.size()});
  }
  file.commit();
}

} // namespace writ
