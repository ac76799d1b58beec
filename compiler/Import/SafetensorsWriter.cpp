//===- SafetensorsWriter.cpp - writes safetensors -------------------------===//
#include "compiler/Import/SafetensorsWriter.h"

#include "compiler/Import/ModelFile.h"
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

/// The size of an entry's data.
uint64_t checkEntry(const std::string &path, const SafetensorsEntry &entry,
                    std::unordered_set<std::string> &names) {
  auto refuse = [&](const std::string &problem) {
    throw Error(Location{path}, "E029",
                fmt::format("cannot write tensor '{}': {}", printable(entry.name), problem));
  };
  if (entry.name.empty() || !isUtf8(entry.name))
    refuse("its name must be UTF-8 and not empty");
  if (entry.name.starts_with("__"))
    refuse("names that start with '__' are reserved");
  if (!names.insert(entry.name).second)
    refuse("it occurs twice");
  uint64_t size = elementBytes(entry.dtype);
  if (size == 0)
    refuse(fmt::format("unknown dtype '{}'", printable(entry.dtype)));
  bool overflow = false;
  for (int64_t extent : entry.shape)
    overflow = overflow || extent < 0 ||
               __builtin_mul_overflow(size, static_cast<uint64_t>(extent), &size);
  if (overflow)
    refuse("its shape is negative or asks for more than 2^64 bytes");
  return size;
}

std::string tensorEntry(const std::string &name, const std::string &dtype,
                        const std::vector<int64_t> &shape, uint64_t begin, uint64_t end) {
  return fmt::format("{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
                     quoted(name), dtype, fmt::join(shape, ","), begin, end);
}

} // namespace

SafetensorsWriter::SafetensorsWriter(
    const std::string &path, const std::vector<SafetensorsEntry> &entries,
    const std::vector<std::pair<std::string, std::string>> &metadata, size_t alignment)
    : path(path), file(path) {
  if (!std::has_single_bit(alignment) || alignment < 8)
    throw Error(
        Location{path}, "E029",
        fmt::format("cannot align tensors to {}: must be a power of two from 8 up", alignment));
  std::unordered_set<std::string> names, keys;
  std::vector<std::string> texts;
  for (const auto &[key, value] : metadata) {
    if (!isUtf8(key) || !isUtf8(value) || !keys.insert(key).second)
      throw Error(Location{path}, "E029",
                  fmt::format("cannot write metadata '{}': keys are unique, and all is UTF-8",
                              printable(key)));
    texts.push_back(quoted(key) + ":" + quoted(value));
  }
  std::string header = "{";
  if (!metadata.empty())
    header += fmt::format("\"__metadata__\":{{{}}}", fmt::join(texts, ","));

  // Offsets are those of the data section, whose start is aligned as well.
  uint64_t end = 0;
  auto add = [&](const std::string &text) { header += (header.size() > 1 ? "," : "") + text; };
  for (const SafetensorsEntry &entry : entries) {
    const uint64_t size = checkEntry(path, entry, names);
    const uint64_t padding = (alignment - end % alignment) % alignment;
    if (padding != 0)
      add(tensorEntry(fmt::format("__pad{}", spans.size()), "U8", {static_cast<int64_t>(padding)},
                      end, end + padding));
    const uint64_t begin = end + padding;
    if (__builtin_add_overflow(begin, size, &end))
      throw Error(Location{path}, "E029", "the tensors take more than 2^64 bytes");
    add(tensorEntry(entry.name, entry.dtype, entry.shape, begin, end));
    spans.push_back({begin, end});
  }
  header += '}';
  while ((sizeof(uint64_t) + header.size()) % alignment != 0)
    header += ' ';
  const uint64_t length = header.size();
  file.write({reinterpret_cast<const char *>(&length), sizeof(length)});
  file.write(header);
  dataStart = sizeof(length) + header.size();
}

void SafetensorsWriter::pad(uint64_t to) {
  file.write(std::string(to - position, '\0'));
  position = to;
}

void SafetensorsWriter::write(std::string_view bytes) {
  while (!bytes.empty()) {
    while (current < spans.size() && position >= spans[current].end)
      ++current;
    if (current == spans.size())
      throw Error(Location{path}, "E029", "more bytes are given than its tensors have");
    pad(std::max(position, spans[current].begin));
    const std::string_view part = bytes.substr(0, spans[current].end - position);
    file.write(part);
    position += part.size();
    bytes.remove_prefix(part.size());
  }
}

void SafetensorsWriter::commit() {
  if (position != dataBytes())
    throw Error(Location{path}, "E029",
                fmt::format("{} bytes are given, its tensors have {}", position, dataBytes()));
  file.commit();
}

} // namespace writ
