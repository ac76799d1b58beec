//===- Compare.cpp - tensors as a kernel leaves them ----------------------===//
#include "tests/conformance/Compare.h"

#include "ir/Reference/Storage.h"

#include <cstring>
#include <map>
#include <stdexcept>

namespace writ::test {
namespace {

/// One run of equal elements inside a row.
struct Field {
  int64_t count, bytes;
  uint64_t magnitude, infinity; ///< masks that tell a NaN; 0 for integers
  const char *part = "";
};

std::vector<Field> fieldsOf(const std::string &storage, int64_t width) {
  constexpr uint64_t f32 = 0x7fffffff, f32Infinity = 0x7f800000;
  if (storage == "f32")
    return {{width, 4, f32, f32Infinity}};
  if (storage == "i32")
    return {{width, 4, 0, 0}};
  if (storage == "f16")
    return {{width, 2, 0x7fff, 0x7c00}};
  if (storage == "bf16")
    return {{width, 2, 0x7fff, 0x7f80}};
  if (storage.starts_with("i8_")) { // codes, scales, sums
    const reference::CodesLayout &size = reference::codesLayout(storage);
    return {{width, 1, 0, 0, "codes"},
            {width / size.block, 4, f32, f32Infinity, "scales"},
            {width / size.summed, size.sumBytes, 0, 0, "sums"}};
  }
  if (storage.starts_with("q8_")) { // block after block: scale, sum of values, codes, sums of codes
    const reference::CodesLayout &size = reference::codesLayout(storage);
    std::vector<Field> fields;
    for (int64_t block = 0; block < width / size.block; ++block) {
      if (size.halfScale)
        fields.push_back({1, 2, 0x7fff, 0x7c00, "scales"});
      else
        fields.push_back({1, 4, f32, f32Infinity, "scales"});
      if (size.hasValueSum)
        fields.push_back({1, 2, 0x7fff, 0x7c00, "sums"});
      fields.push_back({size.block, 1, 0, 0, "codes"});
      if (size.summed)
        fields.push_back({size.block / size.summed, size.sumBytes, 0, 0, "sums"});
    }
    return fields;
  }
  throw std::runtime_error("values of storage '" + storage + "' cannot be compared");
}

uint64_t load(const std::byte *at, int64_t bytes) {
  uint64_t value = 0;
  std::memcpy(&value, at, static_cast<size_t>(bytes)); // little-endian, as the formats are
  return value;
}

} // namespace

Comparison compare(const std::string &storage, int64_t width, std::span<const std::byte> expected,
                   std::span<const std::byte> got) {
  Comparison result;
  const std::vector<Field> fields = fieldsOf(storage, width);
  const int64_t stride = reference::rowBytes(storage, width);
  if (expected.size() != got.size() || expected.size() % static_cast<size_t>(stride) != 0) {
    result.differences = 1;
    return result;
  }
  const int64_t rows = static_cast<int64_t>(expected.size()) / stride;
  int64_t elements = 0;
  for (const Field &field : fields)
    elements += field.count;
  for (int64_t row = 0; row < rows; ++row) {
    result.elements += elements;
    if (std::memcmp(expected.data() + row * stride, got.data() + row * stride,
                    static_cast<size_t>(stride)) == 0)
      continue;
    int64_t at = row * stride;
    std::map<std::string, int64_t> columns; // by part
    for (const Field &field : fields) {
      int64_t &column = columns[field.part];
      for (int64_t i = 0; i < field.count; ++i, ++column, at += field.bytes) {
        const uint64_t a = load(expected.data() + at, field.bytes);
        const uint64_t b = load(got.data() + at, field.bytes);
        const bool bothNaN = field.magnitude != 0 && (a & field.magnitude) > field.infinity &&
                             (b & field.magnitude) > field.infinity;
        if (a == b || bothNaN)
          continue;
        if (result.differences++ == 0) {
          result.row = row;
          result.column = column;
          result.part = field.part;
          result.expected = a;
          result.got = b;
        }
      }
    }
  }
  return result;
}

} // namespace writ::test
