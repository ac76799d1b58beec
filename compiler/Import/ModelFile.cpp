//===- ModelFile.cpp - a model as its file gives it -----------------------===//
#include "compiler/Import/ModelFile.h"

#include "compiler/Import/ModelReaders.h"
#include "compiler/Support/Digest.h"
#include "compiler/Support/FileIO.h"
#include "compiler/Support/Utf8.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <mutex>
#include <numeric>

namespace writ {

//===----------------------------------------------------------------------===//
// Metadata
//===----------------------------------------------------------------------===//

static bool fitsSigned(uint64_t value) {
  return value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
}

std::optional<int64_t> MetadataValue::asInteger() const {
  if (const auto *integer = std::get_if<int64_t>(&value))
    return *integer;
  if (const auto *integer = std::get_if<uint64_t>(&value); integer && fitsSigned(*integer))
    return static_cast<int64_t>(*integer);
  return std::nullopt;
}

std::optional<double> MetadataValue::asNumber() const {
  if (const auto *number = std::get_if<double>(&value))
    return *number;
  if (const auto *integer = std::get_if<int64_t>(&value))
    return static_cast<double>(*integer);
  if (const auto *integer = std::get_if<uint64_t>(&value))
    return static_cast<double>(*integer);
  return std::nullopt;
}

const std::string *MetadataValue::asString() const {
  return std::get_if<std::string>(&value);
}

std::optional<bool> MetadataValue::asBool() const {
  if (const auto *boolean = std::get_if<bool>(&value))
    return *boolean;
  return std::nullopt;
}

template <typename Element>
static const std::vector<Element> *arrayOf(const MetadataValue &metadata) {
  const auto *array = std::get_if<MetadataValue::Array>(&metadata.value);
  return array ? std::get_if<std::vector<Element>>(array) : nullptr;
}

const std::vector<std::string> *MetadataValue::asStrings() const {
  return arrayOf<std::string>(*this);
}

std::optional<std::vector<int64_t>> MetadataValue::asIntegers() const {
  if (const auto *integers = arrayOf<int64_t>(*this))
    return *integers;
  if (const auto *integers = arrayOf<uint64_t>(*this);
      integers && std::all_of(integers->begin(), integers->end(), fitsSigned))
    return std::vector<int64_t>(integers->begin(), integers->end());
  return std::nullopt;
}

std::optional<std::vector<double>> MetadataValue::asNumbers() const {
  if (const auto *numbers = arrayOf<double>(*this))
    return *numbers;
  if (const auto *integers = arrayOf<int64_t>(*this))
    return std::vector<double>(integers->begin(), integers->end());
  if (const auto *integers = arrayOf<uint64_t>(*this))
    return std::vector<double>(integers->begin(), integers->end());
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Lookup
//===----------------------------------------------------------------------===//

template <typename Item, typename NameOf>
static std::vector<uint32_t> sortedIndex(const std::vector<Item> &items, NameOf nameOf) {
  std::vector<uint32_t> index(items.size());
  std::iota(index.begin(), index.end(), 0u);
  std::sort(index.begin(), index.end(),
            [&](uint32_t a, uint32_t b) { return nameOf(items[a]) < nameOf(items[b]); });
  return index;
}

void ModelFile::buildIndexes() {
  entriesByKey = sortedIndex(
      entries, [](const MetadataEntry &entry) -> const std::string & { return entry.key; });
  infosByName =
      sortedIndex(infos, [](const TensorInfo &info) -> const std::string & { return info.name; });
}

const MetadataValue *ModelFile::find(std::string_view key) const {
  auto it = std::lower_bound(entriesByKey.begin(), entriesByKey.end(), key,
                             [&](uint32_t i, std::string_view k) { return entries[i].key < k; });
  return it != entriesByKey.end() && entries[*it].key == key ? &entries[*it].value : nullptr;
}

const TensorInfo *ModelFile::findTensor(std::string_view name) const {
  auto it = std::lower_bound(infosByName.begin(), infosByName.end(), name,
                             [&](uint32_t i, std::string_view n) { return infos[i].name < n; });
  return it != infosByName.end() && infos[*it].name == name ? &infos[*it] : nullptr;
}

void ModelFile::read(const TensorInfo &tensor, size_t offset, std::span<std::byte> into) const {
  const std::span<const std::byte> source = bytes(tensor).subspan(offset, into.size());
  std::copy(source.begin(), source.end(), into.begin());
}

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

void refuseField(const std::string &path, const char *code, const std::string &problem,
                 uint64_t offset, const std::string &field) {
  throw Error(Location{path}, code,
              fmt::format("{} at byte {} (field '{}')", problem, offset, field));
}

namespace {

/// A model file over bytes that it maps, or that the caller keeps.
class OpenModel final : public ModelFile {
public:
  OpenModel(std::unique_ptr<MappedFile> file, std::span<const std::byte> content,
            const std::string &path, ModelContents &&contents)
      : mapping(std::move(file)), content(content) {
    filePath = path;
    fileFormat = std::move(contents.format);
    entries = std::move(contents.entries);
    infos = std::move(contents.infos);
    buildIndexes();
  }

  std::span<const std::byte> bytes(const TensorInfo &tensor) const override {
    return content.subspan(tensor.fileOffset, tensor.bytes);
  }

  void read(const TensorInfo &tensor, size_t offset, std::span<std::byte> into) const override {
    if (mapping)
      mapping->read(tensor.fileOffset + offset, into);
    else
      ModelFile::read(tensor, offset, into);
  }

  void requireUnchanged() const override {
    if (mapping)
      mapping->requireUnchanged();
  }

  std::string sha256() const override {
    std::call_once(hashed, [&] {
      // In pieces, so that the file is never in memory as a whole.
      constexpr size_t piece = size_t(1) << 20;
      std::vector<std::byte> copy(mapping ? std::min(piece, content.size()) : 0);
      Sha256Stream stream;
      for (size_t at = 0; at < content.size(); at += piece) {
        std::span<const std::byte> part = content.subspan(at, std::min(piece, content.size() - at));
        if (mapping) {
          const std::span<std::byte> into = std::span(copy).first(part.size());
          mapping->read(at, into);
          part = into;
        }
        stream.update({reinterpret_cast<const char *>(part.data()), part.size()});
      }
      digest = stream.finish();
    });
    return digest;
  }

private:
  std::unique_ptr<MappedFile> mapping;
  std::span<const std::byte> content;
  mutable std::once_flag hashed;
  mutable std::string digest;
};

ModelContents readContents(std::span<const std::byte> bytes, const std::string &path) {
  std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  if (text.empty())
    throw Error(Location{path}, "E020", "not a model file: it is empty");
  if (text.starts_with("GGUF"))
    return readGguf(bytes, path);
  for (std::string_view old : {"ggml", "ggmf", "ggjt", "lmgg", "fmgg", "tjgg"})
    if (text.starts_with(old))
      refuseField(path, "E020",
                  "a file of the GGML family that GGUF has replaced; convert it to GGUF v3", 0,
                  "magic");
  // safetensors has no magic: a length of 8 bytes, then a JSON object.
  if (path.ends_with(".safetensors") || (text.size() > 8 && text[8] == '{'))
    return readSafetensors(bytes, path);
  refuseField(path, "E020",
              fmt::format("neither GGUF nor safetensors: the file starts with '{}'",
                          printable(text.substr(0, 4))),
              0, "magic");
}

} // namespace

std::unique_ptr<ModelFile> openModelFile(const std::string &path) {
  auto mapping = std::make_unique<MappedFile>(path);
  std::span<const std::byte> bytes = mapping->bytes();
  ModelContents contents = readContents(bytes, path);
  return std::make_unique<OpenModel>(std::move(mapping), bytes, path, std::move(contents));
}

std::unique_ptr<ModelFile> openModelBytes(std::span<const std::byte> bytes,
                                          const std::string &name) {
  return std::make_unique<OpenModel>(nullptr, bytes, name, readContents(bytes, name));
}

} // namespace writ
