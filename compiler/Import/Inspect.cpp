//===- Inspect.cpp - what a model file holds, for people and scripts ------===//
#include "compiler/Import/Inspect.h"

#include "compiler/Support/Utf8.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace writ {

namespace {

constexpr size_t shownInText = 4, shownInJson = 16; ///< elements of a long array

std::string numberText(double value) {
  // f32 values were widened: the shortest text of the binary32 is the one that was meant.
  auto narrow = static_cast<float>(value);
  return narrow == value ? fmt::format("{}", narrow) : fmt::format("{}", value);
}

std::string elementText(bool value) {
  return value ? "true" : "false";
}
std::string elementText(int64_t value) {
  return fmt::format("{}", value);
}
std::string elementText(uint64_t value) {
  return fmt::format("{}", value);
}
std::string elementText(double value) {
  return numberText(value);
}
std::string elementText(const std::string &value) {
  return "\"" + printable(value, 100) + "\"";
}

nlohmann::json elementJson(double value) {
  if (!std::isfinite(value))
    return fmt::format("{}", value);
  return value;
}
nlohmann::json elementJson(const std::string &value) {
  return isUtf8(value) ? value : printable(value, value.size());
}
template <typename T> nlohmann::json elementJson(const T &value) {
  return value;
}

template <typename Element> std::string arrayText(const std::vector<Element> &array) {
  std::string text = "[";
  for (size_t i = 0; i < std::min(array.size(), shownInText); ++i)
    text += (i == 0 ? "" : ", ") + elementText(static_cast<const Element &>(array[i]));
  if (array.size() > shownInText)
    text += fmt::format(", … {} in all", array.size());
  return text + "]";
}

struct TextOfValue {
  template <typename T> std::string operator()(const T &value) const { return elementText(value); }
  std::string operator()(const MetadataValue::Array &array) const {
    return std::visit([](const auto &elements) { return arrayText(elements); }, array);
  }
};

struct JsonOfValue {
  nlohmann::json &entry;

  template <typename T> void operator()(const T &value) const {
    entry["value"] = elementJson(value);
  }
  void operator()(const MetadataValue::Array &array) const {
    std::visit(
        [&](const auto &elements) {
          using Element = typename std::decay_t<decltype(elements)>::value_type;
          nlohmann::json shown = nlohmann::json::array();
          for (size_t i = 0; i < std::min(elements.size(), shownInJson); ++i)
            shown.push_back(elementJson(static_cast<const Element &>(elements[i])));
          bool whole = elements.size() <= shownInJson;
          entry[whole ? "value" : "first"] = std::move(shown);
          if (!whole)
            entry["count"] = elements.size();
        },
        array);
  }
};

struct StorageUse {
  uint64_t tensors = 0, bytes = 0;
};

std::map<std::string, StorageUse> storageUse(const ModelFile &model) {
  std::map<std::string, StorageUse> use;
  for (const TensorInfo &info : model.tensors()) {
    StorageUse &entry = use[info.storage->name];
    ++entry.tensors;
    entry.bytes += info.bytes;
  }
  return use;
}

uint64_t totalBytes(const ModelFile &model) {
  uint64_t total = 0;
  for (const TensorInfo &info : model.tensors())
    total += info.bytes;
  return total;
}

} // namespace

std::string inspectText(const ModelFile &model) {
  std::string text = fmt::format("{}: {}\n\n", printable(model.path(), 4096), model.format());

  text += fmt::format("metadata: {}\n", model.metadata().size());
  size_t keyWidth = 0;
  for (const MetadataEntry &entry : model.metadata())
    keyWidth = std::max(keyWidth, std::min<size_t>(entry.key.size(), 60));
  for (const MetadataEntry &entry : model.metadata())
    text += fmt::format("  {:<{}}  {:<13}  {}\n", printable(entry.key, 200), keyWidth,
                        entry.value.type, std::visit(TextOfValue(), entry.value.value));

  text += fmt::format("\ntensors: {}\n", model.tensors().size());
  size_t nameWidth = 0;
  for (const TensorInfo &info : model.tensors())
    nameWidth = std::max(nameWidth, std::min<size_t>(info.name.size(), 60));
  for (const TensorInfo &info : model.tensors())
    text += fmt::format("  {:<{}}  {:<8}  {:<18}  {:>12} bytes\n", printable(info.name, 200),
                        nameWidth, info.storage->name,
                        fmt::format("[{}]", fmt::join(info.shape, ", ")), info.bytes);

  text += "\nstorage types:\n";
  for (const auto &[name, use] : storageUse(model))
    text += fmt::format("  {:<8}  {:>5} tensors  {:>12} bytes\n", name, use.tensors, use.bytes);
  text += fmt::format("  {:<8}  {:>5} tensors  {:>12} bytes\n", "all", model.tensors().size(),
                      totalBytes(model));
  return text;
}

nlohmann::json inspectJson(const ModelFile &model) {
  nlohmann::json metadata = nlohmann::json::array(), tensors = nlohmann::json::array(),
                 storage = nlohmann::json::array();
  for (const MetadataEntry &entry : model.metadata()) {
    nlohmann::json item = {{"key", entry.key}, {"type", entry.value.type}};
    std::visit(JsonOfValue{item}, entry.value.value);
    metadata.push_back(std::move(item));
  }
  for (const TensorInfo &info : model.tensors())
    tensors.push_back({{"name", info.name},
                       {"storage", info.storage->name},
                       {"shape", info.shape},
                       {"offset", info.fileOffset},
                       {"bytes", info.bytes}});
  for (const auto &[name, use] : storageUse(model))
    storage.push_back({{"type", name}, {"tensors", use.tensors}, {"bytes", use.bytes}});
  return {{"file", elementJson(model.path())}, {"format", model.format()},
          {"metadata", std::move(metadata)},   {"tensors", std::move(tensors)},
          {"storage", std::move(storage)},     {"bytes", totalBytes(model)}};
}

} // namespace writ
