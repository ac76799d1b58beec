//===- Storage.cpp - tensors as a model's file holds them -----------------===//
#include "ir/Reference/Storage.h"

#include "ir/Reference/Scalar.h"

#include <cstring>

namespace writ::reference {
namespace {

template <typename T> T read(const std::byte *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

template <typename T> void write(std::byte *bytes, T value) {
  std::memcpy(bytes, &value, sizeof(T));
}

[[noreturn]] void unknown(const std::string &storage, const char *use) {
  throw ReferenceError("storage '" + storage + "' is not one that the reference reads as " + use);
}

} // namespace

int64_t rowBytes(const std::string &storage, int64_t elements) {
  static const std::map<std::string, int64_t> scalars = {
      {"f32", 4}, {"i32", 4}, {"f64", 8}, {"f16", 2}, {"bf16", 2}};
  static const std::map<std::string, int64_t> blocks = {{"q4_0", 18}, {"q4_1", 20}, {"q8_0", 34}};
  if (auto scalar = scalars.find(storage); scalar != scalars.end())
    return elements * scalar->second;
  if (elements % blockElements != 0)
    throw ReferenceError("a row of " + std::to_string(elements) + " elements of '" + storage +
                         "' does not fill its blocks");
  if (auto block = blocks.find(storage); block != blocks.end())
    return elements / blockElements * block->second;
  if (storage == "i8_b32_sf32") // codes, a scale and a sum for each block, to a multiple of 64
    return (elements + elements / blockElements * 8 + 63) / 64 * 64;
  unknown(storage, "an operand");
}

float readScalar(const std::string &storage, const std::byte *row, int64_t index) {
  if (storage == "f32")
    return read<float>(row + index * 4);
  if (storage == "f16")
    return floatOfBinary16(read<uint16_t>(row + index * 2));
  if (storage == "bf16")
    return floatOfBfloat16(read<uint16_t>(row + index * 2));
  unknown(storage, "scalars");
}

double readF64(const std::byte *row, int64_t index) {
  return read<double>(row + index * 8);
}

void writeScalar(const std::string &storage, std::byte *row, int64_t index, float value) {
  if (storage == "f32")
    return write<float>(row + index * 4, value);
  if (storage == "f16")
    return write<uint16_t>(row + index * 2, binary16OfFloat(value));
  unknown(storage, "scalars to write");
}

Block readBlock(const std::string &storage, const std::byte *row, int64_t block) {
  const std::byte *bytes = row + block * rowBytes(storage, blockElements);
  Block result;
  result.scale = floatOfBinary16(read<uint16_t>(bytes));
  bytes += 2;
  if (storage == "q4_1") {
    result.minimum = floatOfBinary16(read<uint16_t>(bytes));
    bytes += 2;
  }
  for (int64_t j = 0; j < blockElements; ++j) {
    if (storage == "q8_0") {
      result.code[j] = read<int8_t>(bytes + j);
      continue;
    }
    // Element j in the low nibble of byte j, element j + 16 in the high one.
    const int pair = std::to_integer<int>(bytes[j % 16]);
    const int nibble = j < 16 ? pair % 16 : pair / 16;
    if (storage == "q4_0")
      result.code[j] = nibble - 8;
    else if (storage == "q4_1")
      result.code[j] = nibble;
    else
      unknown(storage, "blocks");
  }
  return result;
}

ActivationRow::ActivationRow(std::byte *row, int64_t k)
    : codes(row), scales(row + k), sums(row + k + k / blockElements * 4) {}

int8_t ActivationRow::code(int64_t index) const {
  return read<int8_t>(codes + index);
}
float ActivationRow::scale(int64_t block) const {
  return read<float>(scales + block * 4);
}
int32_t ActivationRow::sum(int64_t block) const {
  return read<int32_t>(sums + block * 4);
}
void ActivationRow::setCode(int64_t index, int8_t code) {
  write(codes + index, code);
}
void ActivationRow::setScale(int64_t block, float scale) {
  write(scales + block * 4, scale);
}
void ActivationRow::setSum(int64_t block, int32_t sum) {
  write(sums + block * 4, sum);
}

} // namespace writ::reference
