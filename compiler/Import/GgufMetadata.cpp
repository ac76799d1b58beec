//===- GgufMetadata.cpp - the typed keys and values of a GGUF file --------===//
#include "compiler/Import/GgufBytes.h"

#include <iterator>
#include <unordered_map>

namespace writ {
namespace {

/// gguf_metadata_value_type, in the order of its values.
enum class ValueType : uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  string,
  array,
  u64,
  i64,
  f64
};
struct ValueTypeInfo {
  const char *name;
  uint32_t bytes; ///< the least that one value takes
};
constexpr ValueTypeInfo valueTypes[] = {
    {"u8", 1},   {"i8", 1},     {"u16", 2},    {"i16", 2}, {"u32", 4}, {"i32", 4}, {"f32", 4},
    {"bool", 1}, {"string", 8}, {"array", 12}, {"u64", 8}, {"i64", 8}, {"f64", 8}};

/// Of all arrays together; no vocabulary comes near.
constexpr uint64_t mostElements = 1ull << 24;

class MetadataReader {
public:
  explicit MetadataReader(GgufBytes &in) : in(in) {}

  std::vector<MetadataEntry> run(uint64_t entryCount) {
    std::vector<MetadataEntry> entries;
    in.section = "metadata_kv";
    std::unordered_map<std::string_view, uint64_t> seen;
    for (in.index = 0; in.index < entryCount; ++in.index) {
      uint64_t start = in.position;
      std::string_view key = in.readName("key");
      auto [first, isNew] = seen.emplace(key, in.index);
      if (!isNew)
        in.refuse("E024",
                  fmt::format("key '{}' occurs twice, first as metadata_kv[{}]", printable(key),
                              first->second),
                  start, in.fieldName("key"));
      ValueType type = readType("value_type");
      entries.push_back({std::string(key), readValue(type)});
    }
    in.section = nullptr;
    return entries;
  }

private:
  ValueType readType(const char *field) {
    auto id = in.read<uint32_t>(field);
    if (id >= std::size(valueTypes))
      in.refuse("E023",
                fmt::format("value type {}, must be 0 to {}", id, std::size(valueTypes) - 1),
                in.position - sizeof(id), in.fieldName(field));
    return ValueType{id};
  }

  static const ValueTypeInfo &infoOf(ValueType type) {
    return valueTypes[static_cast<uint32_t>(type)];
  }

  MetadataValue readValue(ValueType type) {
    MetadataValue value;
    value.offset = in.position;
    value.type = infoOf(type).name;
    switch (type) {
    case ValueType::boolean:
      value.value = in.readBool("value");
      break;
    case ValueType::string:
      value.value = std::string(in.readString("value"));
      break;
    case ValueType::array:
      readArray(value);
      break;
    case ValueType::f32:
    case ValueType::f64:
      value.value = readReal(type, -1);
      break;
    case ValueType::u8:
    case ValueType::u16:
    case ValueType::u32:
    case ValueType::u64:
      value.value = readUnsigned(type, -1);
      break;
    default:
      value.value = readSigned(type, -1);
    }
    return value;
  }

  double readReal(ValueType type, int64_t i) {
    return type == ValueType::f32 ? in.read<float>("value", i) : in.read<double>("value", i);
  }

  uint64_t readUnsigned(ValueType type, int64_t i) {
    switch (type) {
    case ValueType::u8:
      return in.read<uint8_t>("value", i);
    case ValueType::u16:
      return in.read<uint16_t>("value", i);
    case ValueType::u32:
      return in.read<uint32_t>("value", i);
    default:
      return in.read<uint64_t>("value", i);
    }
  }

  int64_t readSigned(ValueType type, int64_t i) {
    switch (type) {
    case ValueType::i8:
      return in.read<int8_t>("value", i);
    case ValueType::i16:
      return in.read<int16_t>("value", i);
    case ValueType::i32:
      return in.read<int32_t>("value", i);
    default:
      return in.read<int64_t>("value", i);
    }
  }

  void readArray(MetadataValue &value) {
    ValueType type = readType("value.type");
    if (type == ValueType::array)
      in.refuse("E023", "an array of arrays, which no known key has",
                in.position - sizeof(uint32_t), in.fieldName("value.type"));
    uint64_t start = in.position;
    auto count = in.read<uint64_t>("value.count");
    if (count > in.left() / infoOf(type).bytes)
      in.refuse("E022",
                fmt::format("an array of {} elements does not fit into the {} bytes that are left",
                            count, in.left()),
                start, in.fieldName("value.count"));
    if (count > elementsLeft)
      in.refuse("E022",
                fmt::format("an array of {} elements; all arrays together may have {}", count,
                            mostElements),
                start, in.fieldName("value.count"));
    elementsLeft -= count;
    value.type = fmt::format("array<{}>", infoOf(type).name);
    switch (type) {
    case ValueType::boolean:
      value.value = elements<bool>(count, [&](int64_t i) { return in.readBool("value", i); });
      break;
    case ValueType::string:
      value.value = elements<std::string>(
          count, [&](int64_t i) { return std::string(in.readString("value", i)); });
      break;
    case ValueType::f32:
    case ValueType::f64:
      value.value = elements<double>(count, [&](int64_t i) { return readReal(type, i); });
      break;
    case ValueType::u8:
    case ValueType::u16:
    case ValueType::u32:
    case ValueType::u64:
      value.value = elements<uint64_t>(count, [&](int64_t i) { return readUnsigned(type, i); });
      break;
    default:
      value.value = elements<int64_t>(count, [&](int64_t i) { return readSigned(type, i); });
    }
  }

  template <typename Element, typename Read>
  static MetadataValue::Array elements(uint64_t count, Read readElement) {
    std::vector<Element> result;
    result.reserve(count);
    for (uint64_t i = 0; i < count; ++i)
      result.push_back(readElement(static_cast<int64_t>(i)));
    return result;
  }

  GgufBytes &in;
  uint64_t elementsLeft = mostElements;
};

} // namespace

std::vector<MetadataEntry> readGgufMetadata(GgufBytes &in, uint64_t count) {
  return MetadataReader(in).run(count);
}

} // namespace writ
