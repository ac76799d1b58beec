//===- SafetensorsReader.cpp - reads safetensors --------------------------===//
//
// The layout: the header's length (u64), the header (a JSON object), the tensors' bytes. The header
// is read by SAX into the few fields that the format has, so that no header, however large or
// crooked, can ask for more memory than a fixed multiple of its own length.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/ModelReaders.h"

#include "compiler/Support/JsonScan.h"
#include "compiler/Support/Utf8.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>
#include <unordered_set>

namespace writ {

namespace {

constexpr uint64_t longestHeader = 100'000'000; ///< the format's own limit
constexpr size_t mostDimensions = 8;
constexpr size_t mostEntries = 1u << 20; ///< keys of __metadata__, and tensors

/// The storage type of a dtype: its name in lower case.
const StorageType *storageOf(std::string_view dtype) {
  std::string name(dtype);
  for (char &c : name) {
    if (c >= 'a' && c <= 'z')
      return nullptr;
    if (c >= 'A' && c <= 'Z')
      c = static_cast<char>(c - 'A' + 'a');
  }
  const StorageType *type = findStorageType(name);
  return type && type->blockElements == 1 ? type : nullptr;
}

/// The SAX handler: {"__metadata__": {key: string}, name: {"dtype", "shape", "data_offsets"}}.
class Reader {
public:
  Reader(std::span<const std::byte> bytes, const std::string &path)
      : bytes(bytes), path(path), header(headerOf()), tokens(header) {}

  ModelContents run() {
    contents.format = "safetensors";
    nlohmann::json::sax_parse(tokens.first(), tokens.last(), this);
    placeTensors();
    return std::move(contents);
  }

  bool null() { return unexpected(tokens.take(), "null"); }
  bool boolean(bool) { return unexpected(tokens.take(), "a boolean"); }
  bool binary(nlohmann::json::binary_t &) { return false; }
  bool number_float(double, const std::string &) {
    return unexpected(tokens.offsetOf(tokens.takeNumber()), "a number that is no 64-bit integer");
  }
  bool number_integer(int64_t) {
    return unexpected(tokens.offsetOf(tokens.takeNumber()), "a negative integer");
  }

  bool number_unsigned(uint64_t value) {
    size_t at = tokens.offsetOf(tokens.takeNumber());
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      return unexpected(at, "an integer beyond 2^63 - 1");
    if (place == Place::shape && current.shape.size() < mostDimensions)
      current.shape.push_back(static_cast<int64_t>(value));
    else if (place == Place::offsets && offsetCount < 2)
      offsets[offsetCount++] = value;
    else
      return unexpected(at, place == Place::shape     ? "more than 8 dimensions"
                            : place == Place::offsets ? "a third offset"
                                                      : "an integer");
    return true;
  }

  bool string(std::string &value) {
    size_t at = tokens.take();
    if (place == Place::metadata) {
      contents.entries.back().value = {std::move(value), "string", absolute(at)};
      return true;
    }
    if (place != Place::tensor || field != "dtype")
      return unexpected(at, "a string");
    current.storage = storageOf(value);
    if (!current.storage)
      refuse("E028",
             fmt::format("tensor '{}' has unknown dtype '{}'", printable(current.name),
                         printable(value)),
             at, fieldName());
    return true;
  }

  bool start_object(size_t) {
    size_t at = tokens.take();
    if (place == Place::start)
      place = Place::top;
    else if (place == Place::top)
      place = field == "__metadata__" ? Place::metadata : Place::tensor;
    else
      return unexpected(at, "an object");
    if (place == Place::tensor) {
      current = {};
      current.name = field;
      fieldsSeen = 0;
      offsetCount = 0;
      tensorStart = at;
    }
    return true;
  }

  bool start_array(size_t) {
    size_t at = tokens.take();
    if (place == Place::tensor && field == "shape")
      place = Place::shape;
    else if (place == Place::tensor && field == "data_offsets")
      place = Place::offsets;
    else
      return unexpected(at, "an array");
    return true;
  }

  bool end_array() {
    size_t at = tokens.take();
    if (place == Place::offsets && offsetCount != 2)
      return unexpected(at, "too few offsets");
    place = Place::tensor;
    return true;
  }

  bool end_object() {
    tokens.take();
    if (place == Place::tensor)
      finishTensor();
    place = place == Place::top ? Place::start : Place::top;
    return true;
  }

  bool key(std::string &name) {
    size_t at = tokens.take();
    if (place == Place::tensor)
      return tensorField(name, at);
    std::unordered_set<std::string> &seen = place == Place::top ? names : keys;
    if (!seen.insert(name).second)
      refuse("E024",
             fmt::format("{} '{}' occurs twice", place == Place::top ? "tensor" : "key",
                         printable(name)),
             at, "header");
    if (seen.size() > mostEntries)
      refuse("E022", fmt::format("more than {} entries", mostEntries), at, "header");
    if (place == Place::metadata)
      contents.entries.push_back({name, {}});
    field = std::move(name);
    return true;
  }

  bool parse_error(size_t consumed, const std::string &, const nlohmann::json::exception &error) {
    std::string_view problem = syntaxProblem(error.what());
    bool wholeToken = problem.find("unexpected") != std::string_view::npos;
    refuse("E029", fmt::format("the header is not JSON: {}", problem),
           tokens.errorOffset(consumed, wholeToken), "header");
  }

private:
  enum class Place { start, top, metadata, tensor, shape, offsets };

  /// Offsets here count from the start of the header.
  static uint64_t absolute(size_t at) { return at + sizeof(uint64_t); }

  [[noreturn]] void refuse(const char *code, const std::string &problem, size_t at,
                           const std::string &fieldName) const {
    refuseField(path, code, problem, absolute(at), fieldName);
  }

  std::string fieldName() const {
    if (place == Place::start || place == Place::top)
      return "header";
    if (place == Place::metadata)
      return "__metadata__." + printable(field);
    return printable(current.name) + "." + field;
  }

  bool unexpected(size_t at, const char *what) const {
    refuse("E029", fmt::format("unexpected {} in the header", what), at, fieldName());
  }

  bool tensorField(const std::string &name, size_t at) {
    constexpr std::string_view known[] = {"dtype", "shape", "data_offsets"};
    auto found = std::find(std::begin(known), std::end(known), name);
    if (found == std::end(known))
      refuse("E029",
             fmt::format("unknown field '{}' of tensor '{}'", printable(name),
                         printable(current.name)),
             at, "header");
    unsigned bit = 1u << (found - std::begin(known));
    if (fieldsSeen & bit)
      refuse("E024",
             fmt::format("field '{}' of tensor '{}' occurs twice", name, printable(current.name)),
             at, "header");
    fieldsSeen |= bit;
    field = name;
    return true;
  }

  std::string_view headerOf() const {
    uint64_t length = 0;
    if (bytes.size() < sizeof(length))
      refuseField(path, "E021",
                  fmt::format("the file ends early: 8 bytes are needed, {} are left", bytes.size()),
                  0, "header_size");
    std::memcpy(&length, bytes.data(), sizeof(length));
    if (length > longestHeader || length > bytes.size() - sizeof(length))
      refuseField(path, "E022",
                  fmt::format("a header of {} bytes; {} bytes are left, and {} are allowed", length,
                              bytes.size() - sizeof(length), longestHeader),
                  0, "header_size");
    return {reinterpret_cast<const char *>(bytes.data()) + sizeof(length), length};
  }

  void finishTensor() {
    if (fieldsSeen != 7)
      refuse(
          "E029",
          fmt::format("tensor '{}' needs dtype, shape and data_offsets", printable(current.name)),
          tensorStart, "header");
    int64_t size = current.storage->blockBytes;
    bool overflow = false, empty = false;
    for (int64_t extent : current.shape) {
      empty = empty || extent == 0;
      overflow = overflow || (extent != 0 && __builtin_mul_overflow(size, extent, &size));
    }
    current.bytes = empty ? 0 : static_cast<uint64_t>(size);
    std::string name = printable(current.name);
    if (overflow)
      refuse("E026", fmt::format("tensor '{}' takes more than 2^63 - 1 bytes", name), tensorStart,
             name + ".shape");
    uint64_t available = bytes.size() - sizeof(uint64_t) - header.size();
    if (offsets[0] > offsets[1] || offsets[1] > available)
      refuse("E027",
             fmt::format("tensor '{}' lies at [{}, {}) of the data section, which has {} bytes",
                         name, offsets[0], offsets[1], available),
             tensorStart, name + ".data_offsets");
    if (offsets[1] - offsets[0] != current.bytes)
      refuse("E027",
             fmt::format("tensor '{}' has {} bytes by its offsets and {} by its shape", name,
                         offsets[1] - offsets[0], current.bytes),
             tensorStart, name + ".data_offsets");
    current.fileOffset = sizeof(uint64_t) + header.size() + offsets[0];
    contents.infos.push_back(std::move(current));
    current = {};
  }

  /// The bytes of all tensors fill the data section: no holes, no overlaps.
  void placeTensors() {
    std::sort(contents.infos.begin(), contents.infos.end(), [](const auto &a, const auto &b) {
      return std::tie(a.fileOffset, a.bytes, a.name) < std::tie(b.fileOffset, b.bytes, b.name);
    });
    uint64_t end = sizeof(uint64_t) + header.size();
    for (const TensorInfo &info : contents.infos) {
      std::string name = printable(info.name);
      if (info.fileOffset != end)
        refuseField(path, "E027",
                    info.fileOffset < end
                        ? fmt::format("tensor '{}' overlaps the one before it", name)
                        : fmt::format("{} bytes before tensor '{}' belong to no tensor",
                                      info.fileOffset - end, name),
                    info.fileOffset, name + ".data_offsets");
      end += info.bytes;
    }
    if (end != bytes.size())
      refuseField(
          path, "E027",
          fmt::format("{} bytes behind the last tensor belong to no tensor", bytes.size() - end),
          end, "data");
  }

  std::span<const std::byte> bytes;
  const std::string &path;
  std::string_view header;
  TokenTracker tokens;
  Place place = Place::start;
  std::string field; ///< the last key
  TensorInfo current;
  size_t tensorStart = 0;
  unsigned fieldsSeen = 0; ///< a bit each for dtype, shape, data_offsets
  uint64_t offsets[2] = {};
  unsigned offsetCount = 0;
  std::unordered_set<std::string> names, keys;
  ModelContents contents;
};

} // namespace

ModelContents readSafetensors(std::span<const std::byte> bytes, const std::string &path) {
  return Reader(bytes, path).run();
}

} // namespace writ
