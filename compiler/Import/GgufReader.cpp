//===- GgufReader.cpp - reads GGUF v2 and v3 ------------------------------===//
//
// The layout (ggml's docs/gguf.md): magic, version, tensor count, key count; the keys with typed
// values; the tensor infos; padding to the alignment; the tensors' bytes. All little-endian.
// Nothing is trusted: a count is compared with the bytes that are left, and with a fixed limit,
// before anything is allocated by it. So no file, of whatever size, makes the reader ask for more
// than the bytes of its strings and a gigabyte.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/ModelReaders.h"

#include "compiler/Support/Utf8.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <iterator>
#include <limits>
#include <unordered_map>

namespace writ {

static_assert(std::endian::native == std::endian::little, "values are read as they lie");

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

constexpr uint64_t longestName = 65535;       ///< the format's limit for a key
constexpr uint64_t mostEntries = 1ull << 20;  ///< keys, and tensors
constexpr uint64_t mostElements = 1ull << 24; ///< of all arrays together; no vocabulary comes near
constexpr uint64_t largestAlignment = 1u << 20; ///< 1 MiB; what is usual is 32
constexpr uint64_t smallestAlignment = 8;       ///< the format wants a multiple of 8
constexpr uint32_t mostDimensions = 4;

/// Ids that the format once gave out.
const char *removedType(uint32_t id) {
  switch (id) {
  case 4:
    return "Q4_2";
  case 5:
    return "Q4_3";
  case 31:
    return "Q4_0_4_4";
  case 32:
    return "Q4_0_4_8";
  case 33:
    return "Q4_0_8_8";
  case 36:
    return "IQ4_NL_4_4";
  case 37:
    return "IQ4_NL_4_8";
  case 38:
    return "IQ4_NL_8_8";
  default:
    return nullptr;
  }
}

class Reader {
public:
  Reader(std::span<const std::byte> bytes, const std::string &path) : bytes(bytes), path(path) {}

  ModelContents run() {
    readHeader();
    readMetadata();
    uint64_t alignment = readAlignment();
    readTensorInfos(alignment);
    placeTensors(alignment);
    return std::move(contents);
  }

private:
  //===--------------------------------------------------------------------===//
  // Bytes
  //===--------------------------------------------------------------------===//

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

  //===--------------------------------------------------------------------===//
  // Header
  //===--------------------------------------------------------------------===//

  void readHeader() {
    position = 4; // the magic has been seen
    auto version = read<uint32_t>("version");
    uint32_t swapped = __builtin_bswap32(version);
    if (swapped >= 1 && swapped <= 3)
      refuse("E020",
             fmt::format("a big-endian GGUF v{} file; Writ reads little-endian files", swapped), 4,
             "version");
    if (version == 1)
      refuse("E020", "a GGUF v1 file; convert it to v3", 4, "version");
    if (version != 2 && version != 3)
      refuse("E020", fmt::format("GGUF version {}; Writ reads 2 and 3", version), 4, "version");
    contents.format = fmt::format("gguf-v{}", version);
    tensorCount = readCount("tensor_count", leastTensorInfo);
    entryCount = readCount("metadata_kv_count", leastEntry);
  }

  uint64_t readCount(const char *field, uint64_t leastBytes) {
    auto count = read<uint64_t>(field);
    if (count > left() / leastBytes)
      refuse(
          "E022",
          fmt::format("a count of {} does not fit into the {} bytes that are left (each takes {} "
                      "or more)",
                      count, left(), leastBytes),
          position - sizeof(count), field);
    if (count > mostEntries)
      refuse("E022", fmt::format("a count of {}, at most {} are read", count, mostEntries),
             position - sizeof(count), field);
    return count;
  }

  //===--------------------------------------------------------------------===//
  // Metadata
  //===--------------------------------------------------------------------===//

  void readMetadata() {
    section = "metadata_kv";
    std::unordered_map<std::string_view, uint64_t> seen;
    for (index = 0; index < entryCount; ++index) {
      uint64_t start = position;
      std::string_view key = readName("key");
      auto [first, isNew] = seen.emplace(key, index);
      if (!isNew)
        refuse("E024",
               fmt::format("key '{}' occurs twice, first as metadata_kv[{}]", printable(key),
                           first->second),
               start, fieldName("key"));
      ValueType type = readType("value_type");
      contents.entries.push_back({std::string(key), readValue(type)});
    }
    section = nullptr;
  }

  ValueType readType(const char *field) {
    auto id = read<uint32_t>(field);
    if (id >= std::size(valueTypes))
      refuse("E023", fmt::format("value type {}, must be 0 to {}", id, std::size(valueTypes) - 1),
             position - sizeof(id), fieldName(field));
    return ValueType{id};
  }

  static const ValueTypeInfo &infoOf(ValueType type) {
    return valueTypes[static_cast<uint32_t>(type)];
  }

  MetadataValue readValue(ValueType type) {
    MetadataValue value;
    value.offset = position;
    value.type = infoOf(type).name;
    switch (type) {
    case ValueType::boolean:
      value.value = readBool("value");
      break;
    case ValueType::string:
      value.value = std::string(readString("value"));
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
    return type == ValueType::f32 ? read<float>("value", i) : read<double>("value", i);
  }

  uint64_t readUnsigned(ValueType type, int64_t i) {
    switch (type) {
    case ValueType::u8:
      return read<uint8_t>("value", i);
    case ValueType::u16:
      return read<uint16_t>("value", i);
    case ValueType::u32:
      return read<uint32_t>("value", i);
    default:
      return read<uint64_t>("value", i);
    }
  }

  int64_t readSigned(ValueType type, int64_t i) {
    switch (type) {
    case ValueType::i8:
      return read<int8_t>("value", i);
    case ValueType::i16:
      return read<int16_t>("value", i);
    case ValueType::i32:
      return read<int32_t>("value", i);
    default:
      return read<int64_t>("value", i);
    }
  }

  void readArray(MetadataValue &value) {
    ValueType type = readType("value.type");
    if (type == ValueType::array)
      refuse("E023", "an array of arrays, which no known key has", position - sizeof(uint32_t),
             fieldName("value.type"));
    uint64_t start = position;
    auto count = read<uint64_t>("value.count");
    if (count > left() / infoOf(type).bytes)
      refuse("E022",
             fmt::format("an array of {} elements does not fit into the {} bytes that are left",
                         count, left()),
             start, fieldName("value.count"));
    if (count > elementsLeft)
      refuse("E022",
             fmt::format("an array of {} elements; all arrays together may have {}", count,
                         mostElements),
             start, fieldName("value.count"));
    elementsLeft -= count;
    value.type = fmt::format("array<{}>", infoOf(type).name);
    switch (type) {
    case ValueType::boolean:
      value.value = elements<bool>(count, [&](int64_t i) { return readBool("value", i); });
      break;
    case ValueType::string:
      value.value = elements<std::string>(
          count, [&](int64_t i) { return std::string(readString("value", i)); });
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

  uint64_t readAlignment() const {
    constexpr uint64_t usual = 32;
    auto entry = std::find_if(contents.entries.begin(), contents.entries.end(),
                              [](const auto &e) { return e.key == "general.alignment"; });
    if (entry == contents.entries.end())
      return usual;
    std::string field = fmt::format("metadata_kv[{}].value", entry - contents.entries.begin());
    const MetadataValue &value = entry->value;
    if (value.type != "u32")
      refuse("E025", fmt::format("general.alignment is of type {}, must be u32", value.type),
             value.offset, field);
    uint64_t alignment = std::get<uint64_t>(value.value);
    if (!std::has_single_bit(alignment) || alignment < smallestAlignment ||
        alignment > largestAlignment)
      refuse("E025",
             fmt::format("general.alignment is {}, must be a power of two from {} to {}", alignment,
                         smallestAlignment, largestAlignment),
             value.offset, field);
    return alignment;
  }

  //===--------------------------------------------------------------------===//
  // Tensors
  //===--------------------------------------------------------------------===//

  void readTensorInfos(uint64_t alignment) {
    section = "tensor_infos";
    std::unordered_map<std::string_view, uint64_t> seen;
    for (index = 0; index < tensorCount; ++index) {
      uint64_t start = position;
      std::string_view name = readName("name");
      auto [first, isNew] = seen.emplace(name, index);
      if (!isNew)
        refuse("E024",
               fmt::format("tensor '{}' occurs twice, first as tensor_infos[{}]", printable(name),
                           first->second),
               start, fieldName("name"));
      TensorInfo info;
      info.name = name;
      readShape(info);
      readStorage(info, alignment);
      info.fileOffset = read<uint64_t>("offset"); // of the data section, until it is placed
      offsetFields.push_back(position - sizeof(uint64_t));
      contents.infos.push_back(std::move(info));
    }
    section = nullptr;
  }

  void readShape(TensorInfo &info) {
    auto dimensions = read<uint32_t>("n_dims");
    if (dimensions < 1 || dimensions > mostDimensions)
      refuse("E026",
             fmt::format("tensor '{}' has {} dimensions, must have 1 to {}", printable(info.name),
                         dimensions, mostDimensions),
             position - sizeof(uint32_t), fieldName("n_dims"));
    int64_t elements = 1;
    for (uint32_t i = 0; i < dimensions; ++i) {
      auto extent = read<uint64_t>("dims", i);
      if (extent == 0 || extent > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
        refuse("E026",
               fmt::format("tensor '{}' has a dimension of {}, must be 1 to 2^63 - 1",
                           printable(info.name), extent),
               position - sizeof(extent), fieldName("dims", i));
      info.shape.push_back(static_cast<int64_t>(extent));
      if (__builtin_mul_overflow(elements, static_cast<int64_t>(extent), &elements))
        refuse("E026",
               fmt::format("tensor '{}' has more than 2^63 - 1 elements", printable(info.name)),
               position - sizeof(extent), fieldName("dims", i));
    }
    // The file has the contiguous dimension first.
    std::reverse(info.shape.begin(), info.shape.end());
  }

  void readStorage(TensorInfo &info, uint64_t alignment) {
    auto id = read<uint32_t>("type");
    uint64_t start = position - sizeof(id);
    info.storage = findStorageType(id);
    if (!info.storage) {
      const char *removed = removedType(id);
      refuse("E028",
             removed
                 ? fmt::format("tensor '{}' has storage type {} ({}), which the format has removed",
                               printable(info.name), id, removed)
                 : fmt::format("tensor '{}' has unknown storage type {}", printable(info.name), id),
             start, fieldName("type"));
    }
    int64_t columns = info.shape.back();
    if (columns % info.storage->blockElements != 0)
      refuse("E026",
             fmt::format(
                 "tensor '{}' has rows of {} elements, which blocks of {} ({}) do not divide",
                 printable(info.name), columns, info.storage->blockElements, info.storage->name),
             start, fieldName("type"));
    int64_t size = info.storage->blockBytes;
    int64_t padded = 0;
    bool overflow = __builtin_mul_overflow(size, columns / info.storage->blockElements, &size);
    for (size_t i = 0; i + 1 < info.shape.size(); ++i)
      overflow = overflow || __builtin_mul_overflow(size, info.shape[i], &size);
    if (overflow || __builtin_add_overflow(size, static_cast<int64_t>(alignment - 1), &padded))
      refuse("E026",
             fmt::format("tensor '{}' takes more than 2^63 - 1 bytes", printable(info.name)), start,
             fieldName("type"));
    info.bytes = static_cast<uint64_t>(size);
  }

  /// Turns offsets in the data section into offsets in the file, and checks where the bytes lie.
  void placeTensors(uint64_t alignment) {
    section = "tensor_infos";
    uint64_t start = (position + alignment - 1) / alignment * alignment;
    uint64_t available = bytes.size() > start ? bytes.size() - start : 0;
    for (index = 0; index < contents.infos.size(); ++index) {
      TensorInfo &info = contents.infos[index];
      if (info.fileOffset % alignment != 0)
        refuse("E027",
               fmt::format("tensor '{}' has offset {}, which the alignment {} does not divide",
                           printable(info.name), info.fileOffset, alignment),
               offsetFields[index], fieldName("offset"));
      if (info.fileOffset > available || info.bytes > available - info.fileOffset)
        refuse(
            "E027",
            fmt::format("tensor '{}' has {} bytes at offset {} of the data section, which has {}",
                        printable(info.name), info.bytes, info.fileOffset, available),
            offsetFields[index], fieldName("offset"));
      info.fileOffset += start;
    }
    refuseOverlaps();
  }

  void refuseOverlaps() {
    std::vector<uint32_t> order(contents.infos.size());
    for (uint32_t i = 0; i < order.size(); ++i)
      order[i] = i;
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return std::pair(contents.infos[a].fileOffset, a) <
             std::pair(contents.infos[b].fileOffset, b);
    });
    for (size_t i = 1; i < order.size(); ++i) {
      const TensorInfo &before = contents.infos[order[i - 1]], &info = contents.infos[order[i]];
      index = order[i];
      if (info.fileOffset < before.fileOffset + before.bytes)
        refuse("E027",
               fmt::format("tensors '{}' and '{}' overlap", printable(before.name),
                           printable(info.name)),
               offsetFields[index], fieldName("offset"));
    }
  }

  /// Key: length, one byte, type, one byte. Tensor: length, one byte, n_dims, one extent, type,
  /// offset.
  static constexpr uint64_t leastEntry = 8 + 1 + 4 + 1;
  static constexpr uint64_t leastTensorInfo = 8 + 1 + 4 + 8 + 4 + 8;

  std::span<const std::byte> bytes;
  const std::string &path;
  uint64_t position = 0;
  const char *section = nullptr; ///< with `index`: which entry is being read
  uint64_t index = 0;
  uint64_t tensorCount = 0, entryCount = 0;
  uint64_t elementsLeft = mostElements;
  std::vector<uint64_t> offsetFields; ///< where each tensor's offset stands in the file
  ModelContents contents;
};

} // namespace

ModelContents readGguf(std::span<const std::byte> bytes, const std::string &path) {
  return Reader(bytes, path).run();
}

} // namespace writ
