//===- OracleStorage.cpp - operands as their formats define them ----------===//
#include "tests/conformance/OracleStorage.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace writ::test::oracle {
namespace {

template <typename T> T read(const std::byte *at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

int byteAt(const std::byte *at) {
  return std::to_integer<int>(*at);
}

/// A binary interchange format of 16 bits, by its definition.
double sixteenBits(uint16_t bits, int exponentBits) {
  const int fractionBits = 15 - exponentBits, bias = (1 << (exponentBits - 1)) - 1;
  const int exponent = bits >> fractionBits & ((1 << exponentBits) - 1);
  const int fraction = bits & ((1 << fractionBits) - 1);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (1 << exponentBits) - 1)
    return fraction ? std::numeric_limits<double>::quiet_NaN()
                    : sign * std::numeric_limits<double>::infinity();
  return sign * std::ldexp(fraction + (exponent ? 1 << fractionBits : 0),
                           std::max(exponent, 1) - bias - fractionBits);
}

double half(const std::byte *at) {
  return sixteenBits(read<uint16_t>(at), 5);
}

/// The nearest multiple of an ulp, `digits` binary digits wide, or of the least subnormal.
double roundedTo(double value, int digits, int leastExponent, double beyond) {
  if (!std::isfinite(value))
    return value;
  int exponent = 0;
  std::frexp(value, &exponent);
  const int unit = std::max(exponent - digits, leastExponent);
  const double result = std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
  return std::fabs(result) >= beyond ? std::copysign(std::numeric_limits<double>::infinity(), value)
                                     : result;
}

struct Format {
  const char *name;
  int64_t elements, bytes;
};
constexpr Format kFormats[] = {
    {"f32", 1, 4},      {"f16", 1, 2},      {"bf16", 1, 2},     {"f64", 1, 8},     {"q4_0", 32, 18},
    {"q4_1", 32, 20},   {"q5_0", 32, 22},   {"q5_1", 32, 24},   {"q8_0", 32, 34},  {"q8_1", 32, 36},
    {"q4_k", 256, 144}, {"q5_k", 256, 176}, {"q6_k", 256, 210}, {"q8_k", 256, 292}};

const Format &formatOf(const std::string &storage) {
  for (const Format &format : kFormats)
    if (storage == format.name)
      return format;
  throw std::runtime_error("the oracle knows no storage '" + storage + "'");
}

/// Blocks of 32: a scale, a minimum of the `_1`, a mask of fifth bits, sixteen bytes of nibbles.
BlockElement smallElement(const std::string &storage, const std::byte *block, int j) {
  const bool hasMinimum = storage.ends_with("_1"), five = storage.starts_with("q5");
  BlockElement element;
  element.scale = half(block);
  if (storage == "q8_0") {
    element.code = read<int8_t>(block + 2 + j);
    return element;
  }
  if (hasMinimum) {
    element.minimum = half(block + 2);
    element.subMinimum = 1;
  }
  const std::byte *mask = block + (hasMinimum ? 4 : 2), *nibbles = mask + (five ? 4 : 0);
  element.code = byteAt(nibbles + j % 16) >> (j / 16 * 4) & 15;
  if (five)
    element.code |= (byteAt(mask + j / 8) >> j % 8 & 1) << 4;
  if (!hasMinimum) // codes count from the middle
    element.code -= five ? 16 : 8;
  return element;
}

/// q4_k, q5_k: eight sub-blocks of 32, each with six bits of scale and of minimum.
BlockElement scaledElement(bool five, const std::byte *block, int j) {
  const int sub = j / 32, l = j % 32;
  const std::byte *packed = block + 4, *high = block + 16, *nibbles = five ? block + 48 : high;
  BlockElement element;
  element.scale = half(block);
  element.minimum = -half(block + 2);
  if (sub < 4) {
    element.subScale = byteAt(packed + sub) & 63;
    element.subMinimum = byteAt(packed + 4 + sub) & 63;
  } else { // the low four bits in the last bytes, the high two above the first sub-blocks'
    const int low = byteAt(packed + 4 + sub);
    element.subScale = (low & 15) | (byteAt(packed + sub - 4) >> 6) << 4;
    element.subMinimum = low >> 4 | (byteAt(packed + sub) >> 6) << 4;
  }
  element.code = byteAt(nibbles + sub / 2 * 32 + l) >> (sub % 2 * 4) & 15;
  if (five)
    element.code |= (byteAt(high + l) >> sub & 1) << 4;
  return element;
}

/// q6_k: sixteen sub-blocks of 16; nibbles and pairs of bits of 128 elements interleaved.
BlockElement sixBitElement(const std::byte *block, int j) {
  const int part = j / 128, quarter = j % 128 / 32, l = j % 32;
  BlockElement element;
  element.scale = half(block + 208);
  element.subScale = read<int8_t>(block + 192 + j / 16);
  const int nibble = byteAt(block + part * 64 + quarter % 2 * 32 + l) >> (quarter / 2 * 4) & 15;
  const int pair = byteAt(block + 128 + part * 32 + l) >> (2 * quarter) & 3;
  element.code = (pair << 4 | nibble) - 32;
  return element;
}

} // namespace

double scalarAt(const std::string &storage, const std::byte *row, int64_t index) {
  if (storage == "f32")
    return read<float>(row + 4 * index);
  if (storage == "f64")
    return read<double>(row + 8 * index);
  if (storage == "f16")
    return half(row + 2 * index);
  if (storage == "bf16")
    return sixteenBits(read<uint16_t>(row + 2 * index), 8);
  throw std::runtime_error("storage '" + storage + "' has no scalars");
}

BlockElement blockElementAt(const std::string &storage, const std::byte *row, int64_t index) {
  const Format &format = formatOf(storage);
  const std::byte *block = row + index / format.elements * format.bytes;
  const auto j = static_cast<int>(index % format.elements);
  if (storage == "q4_k" || storage == "q5_k")
    return scaledElement(storage == "q5_k", block, j);
  return storage == "q6_k" ? sixBitElement(block, j) : smallElement(storage, block, j);
}

int64_t blockSize(const std::string &storage) {
  return formatOf(storage).elements;
}

int64_t rowBytes(const std::string &storage, int64_t elements) {
  if (!storage.starts_with("i8_"))
    return elements / formatOf(storage).elements * formatOf(storage).bytes;
  // Codes, binary32 scales, sums of 32 codes in 4 bytes or of 16 in 2; to whole lines of 64.
  const int64_t sums = storage == "i8_b32_sf32" ? elements / 32 * 4 : elements / 16 * 2;
  const int64_t block = storage == "i8_b32_sf32" ? 32 : 256;
  return (elements + elements / block * 4 + sums + 63) / 64 * 64;
}

int64_t Codes::blockSize() const {
  return storage == "i8_b32_sf32"    ? 32
         : storage == "i8_b256_sf32" ? 256
                                     : formatOf(storage).elements;
}

const std::byte *Codes::blockAt(int64_t block) const {
  return row + block * formatOf(storage).bytes;
}

int Codes::code(int64_t index) const {
  if (storage.starts_with("i8_"))
    return read<int8_t>(row + index);
  const int64_t first = storage == "q8_0" ? 2 : 4; // behind the scale, and q8_1's sum
  return read<int8_t>(blockAt(index / blockSize()) + first + index % blockSize());
}

double Codes::scale(int64_t block) const {
  if (storage.starts_with("i8_"))
    return read<float>(row + k + 4 * block);
  return hasHalfScale() ? half(blockAt(block)) : read<float>(blockAt(block));
}

double Codes::valueSum(int64_t block) const {
  return half(blockAt(block) + 2);
}

double roundedToBinary16(double value) {
  return roundedTo(value, 11, -24, 0x1p16);
}

double roundedToBfloat16(double value) {
  return roundedTo(value, 8, -133, 0x1p128);
}

std::vector<double> valuesOf(const Problem &problem, const std::string &operand) {
  const reference::Operand &found = problem.call.operands.at(operand);
  const auto count = static_cast<int64_t>(found.bytes.size()) / rowBytes(found.storage, 1);
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(scalarAt(found.storage, found.bytes.data(), i));
  return values;
}

double valueOf(const Problem &problem, const std::string &operand, int64_t index) {
  const reference::Operand &found = problem.call.operands.at(operand);
  return scalarAt(found.storage, found.bytes.data(), index);
}

} // namespace writ::test::oracle
