#include "compiler/Tools/writ/RowValues.h"

#include "writ/packed_layout.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace writ::tool {
namespace {

/// Of the floating-point types: where the mantissa ends and what an infinity is.
struct FloatType {
  const char *type;
  int64_t bytes;
  int mantissa;
  uint64_t infinity;
};
constexpr FloatType kFloatTypes[] = {{"f16", 2, 10, 0x7c00},
                                     {"bf16", 2, 7, 0x7f80},
                                     {"f32", 4, 23, 0x7f800000},
                                     {"f64", 8, 52, 0x7ff0000000000000}};

const FloatType *findFloat(const std::string &type) {
  for (const FloatType &known : kFloatTypes)
    if (type == known.type)
      return &known;
  return nullptr;
}

uint64_t load(const std::byte *at, int64_t bytes) {
  uint64_t value = 0;
  std::memcpy(&value, at, size_t(bytes)); // little-endian, as the formats are
  return value;
}

bool isNaN(const FloatType &type, uint64_t bits) {
  const uint64_t magnitude = bits & ((uint64_t(1) << (8 * type.bytes - 1)) - 1);
  return magnitude > type.infinity;
}

double realOf(const FloatType &type, uint64_t bits) {
  const int exponentBits = int(8 * type.bytes) - 1 - type.mantissa;
  const int64_t exponent = int64_t(bits >> type.mantissa & ((uint64_t(1) << exponentBits) - 1));
  const uint64_t fraction = bits & ((uint64_t(1) << type.mantissa) - 1);
  const int64_t bias = (int64_t(1) << (exponentBits - 1)) - 1;
  const double sign = bits >> (8 * type.bytes - 1) ? -1 : 1;
  if (exponent == 2 * bias + 1)
    return sign * (fraction ? std::nan("") : INFINITY);
  const uint64_t whole = exponent ? fraction | uint64_t(1) << type.mantissa : fraction;
  return sign *
         std::ldexp(double(whole), int(std::max<int64_t>(exponent, 1) - bias - type.mantissa));
}

int64_t signedOf(uint64_t bits, int64_t bytes) {
  const int shift = int(64 - 8 * bytes);
  return int64_t(bits << shift) >> shift;
}

} // namespace

std::vector<RowField> rowFields(const std::string &storage, int64_t width, int64_t rowBytes) {
  if (const FloatType *type = findFloat(storage))
    return {{storage, "", width, type->bytes}};
  if (storage == "i32")
    return {{storage, "", width, 4}};
  for (const ActivationCodes *codes : kActivationCodes)
    if (storage == codes->storage)
      return {{"i8", "codes", width, 1},
              {"f32", "scales", width / codes->block, 4},
              {codes->sumBytes == 4 ? "i32" : "i16", "sums", width / codes->sumElements,
               codes->sumBytes}};
  return {{"i8", "bytes", rowBytes, 1}};
}

std::vector<std::byte> canonicalRow(const std::vector<RowField> &fields, const std::byte *row) {
  int64_t bytes = 0;
  for (const RowField &field : fields)
    bytes += field.count * field.bytes;
  std::vector<std::byte> result(row, row + bytes);
  std::byte *at = result.data();
  for (const RowField &field : fields) {
    if (const FloatType *type = findFloat(field.type))
      for (int64_t i = 0; i < field.count; ++i)
        if (isNaN(*type, load(at + i * field.bytes, field.bytes))) {
          const uint64_t quiet = type->infinity | uint64_t(1) << (type->mantissa - 1);
          std::memcpy(at + i * field.bytes, &quiet, size_t(field.bytes));
        }
    at += field.count * field.bytes;
  }
  return result;
}

std::optional<RowDifference> firstDifference(const std::vector<RowField> &fields,
                                             const std::vector<std::byte> &a,
                                             const std::vector<std::byte> &b) {
  std::optional<RowDifference> first;
  size_t at = 0;
  for (const RowField &field : fields)
    for (int64_t i = 0; i < field.count; ++i, at += size_t(field.bytes)) {
      const uint64_t ofA = load(a.data() + at, field.bytes), ofB = load(b.data() + at, field.bytes);
      if (ofA == ofB)
        continue;
      if (!first)
        first = RowDifference{field.type, field.name, i, ofA, ofB, 0};
      ++first->elements;
    }
  return first;
}

std::string valueText(const std::string &type, uint64_t bits) {
  if (const FloatType *real = findFloat(type))
    return fmt::format("{:a} (0x{:0{}x})", realOf(*real, bits), bits, 2 * real->bytes);
  const int64_t bytes = type == "i8" ? 1 : type == "i16" ? 2 : 4;
  return fmt::format("{}", signedOf(bits, bytes));
}

} // namespace writ::tool
