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

struct BlockSize {
  int64_t elements, bytes;
};
const std::map<std::string, BlockSize> &blockSizes() {
  static const std::map<std::string, BlockSize> sizes = {
      {"q4_0", {32, 18}},   {"q4_1", {32, 20}},  {"q5_0", {32, 22}},   {"q5_1", {32, 24}},
      {"q8_0", {32, 34}},   {"q8_1", {32, 36}},  {"q4_k", {256, 144}}, {"q5_k", {256, 176}},
      {"q6_k", {256, 210}}, {"q8_k", {256, 292}}};
  return sizes;
}

const std::map<std::string, CodesLayout> &codesLayouts() {
  static const std::map<std::string, CodesLayout> layouts = {
      {"i8_b32_sf32", {.block = 32, .summed = 32, .sumBytes = 4}},
      {"i8_b256_sf32", {.block = 256, .summed = 16, .sumBytes = 2}},
      {"q8_0", {.block = 32, .blockBytes = 34, .codeOffset = 2, .halfScale = true}},
      {"q8_1",
       {.block = 32,
        .blockBytes = 36,
        .codeOffset = 4,
        .sumOffset = 2,
        .halfScale = true,
        .hasValueSum = true}},
      {"q8_k",
       {.block = 256,
        .summed = 16,
        .sumBytes = 2,
        .blockBytes = 292,
        .codeOffset = 4,
        .sumOffset = 260}}};
  return layouts;
}

int bits(std::byte byte, int first, int count) {
  return std::to_integer<int>(byte >> first) % (1 << count);
}

/// 32 elements: d, m, high bits, codes, as far as the storage has them.
Block readSmallBlock(const std::string &storage, const std::byte *bytes) {
  Block result;
  result.subScale = result.subMinimum = {1};
  result.scale = floatOfBinary16(read<uint16_t>(bytes));
  bytes += 2;
  if (storage == "q4_1" || storage == "q5_1") {
    result.minimum = floatOfBinary16(read<uint16_t>(bytes));
    bytes += 2;
  }
  const bool five = storage == "q5_0" || storage == "q5_1";
  const uint32_t high = five ? read<uint32_t>(bytes) : 0; // bit j is the high bit of element j
  bytes += five ? 4 : 0;
  for (int j = 0; j < 32; ++j) {
    // Element j in the low nibble of byte j, element j + 16 in the high one.
    const int nibble = bits(bytes[j % 16], j < 16 ? 0 : 4, 4);
    const int joined = nibble + static_cast<int>(high >> j & 1) * 16;
    result.code.push_back(storage == "q8_0"   ? read<int8_t>(bytes + j)
                          : storage == "q4_0" ? nibble - 8
                          : storage == "q5_0" ? joined - 16
                                              : joined);
  }
  return result;
}

/// q4_k and q5_k: d, dmin, 12 bytes of sub-scales and sub-minimums, high bits, nibbles.
Block readScaledBlock(bool five, const std::byte *bytes) {
  Block result;
  result.scale = floatOfBinary16(read<uint16_t>(bytes));
  result.minimum = floatOfBinary16(read<uint16_t>(bytes + 2));
  const std::byte *packed = bytes + 4;
  for (int j = 0; j < 8; ++j) {
    if (j < 4) {
      result.subScale.push_back(bits(packed[j], 0, 6));
      result.subMinimum.push_back(bits(packed[j + 4], 0, 6));
    } else {
      result.subScale.push_back(bits(packed[j + 4], 0, 4) + 16 * bits(packed[j - 4], 6, 2));
      result.subMinimum.push_back(bits(packed[j + 4], 4, 4) + 16 * bits(packed[j], 6, 2));
    }
  }
  const std::byte *high = packed + 12, *nibbles = five ? high + 32 : high;
  for (int j = 0; j < 8; ++j)
    for (int i = 0; i < 32; ++i) {
      const int nibble = bits(nibbles[j / 2 * 32 + i], j % 2 * 4, 4);
      result.code.push_back(five ? nibble + 16 * bits(high[i], j, 1) : nibble);
    }
  return result;
}

/// q6_k: nibbles, pairs of high bits, 16 sub-scales, d; two halves of four runs of 32 elements.
Block readQ6Block(const std::byte *bytes) {
  Block result;
  for (int j = 0; j < 16; ++j) {
    result.subScale.push_back(read<int8_t>(bytes + 192 + j));
    result.subMinimum.push_back(0);
  }
  result.scale = floatOfBinary16(read<uint16_t>(bytes + 208));
  for (int half = 0; half < 2; ++half)
    for (int run = 0; run < 4; ++run)
      for (int i = 0; i < 32; ++i) {
        const int nibble = bits(bytes[half * 64 + run % 2 * 32 + i], run < 2 ? 0 : 4, 4);
        result.code.push_back(nibble + 16 * bits(bytes[128 + half * 32 + i], run * 2, 2) - 32);
      }
  return result;
}

} // namespace

bool isScalar(const std::string &storage) {
  return storage == "f32" || storage == "f16" || storage == "bf16";
}

bool isBlocks(const std::string &storage) {
  return blockSizes().contains(storage) && storage != "q8_1" && storage != "q8_k";
}

bool isCodes(const std::string &storage) {
  return codesLayouts().contains(storage);
}

int64_t blockElements(const std::string &storage) {
  if (auto block = blockSizes().find(storage); block != blockSizes().end())
    return block->second.elements;
  if (auto codes = codesLayouts().find(storage); codes != codesLayouts().end())
    return codes->second.block;
  unknown(storage, "blocks");
}

int64_t rowBytes(const std::string &storage, int64_t elements) {
  static const std::map<std::string, int64_t> scalars = {
      {"f32", 4}, {"i32", 4}, {"f64", 8}, {"f16", 2}, {"bf16", 2}};
  if (auto scalar = scalars.find(storage); scalar != scalars.end())
    return elements * scalar->second;
  const auto block = blockSizes().find(storage);
  const auto codes = codesLayouts().find(storage);
  if (block == blockSizes().end() && codes == codesLayouts().end())
    unknown(storage, "an operand");
  if (elements % blockElements(storage) != 0)
    throw ReferenceError("a row of " + std::to_string(elements) + " elements of '" + storage +
                         "' does not fill its blocks");
  if (block != blockSizes().end())
    return elements / block->second.elements * block->second.bytes;
  const CodesLayout &size = codes->second; // codes, scales and sums, to a multiple of 64
  return (elements + elements / size.block * 4 + elements / size.summed * size.sumBytes + 63) / 64 *
         64;
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

void writeF64(std::byte *row, int64_t index, double value) {
  write<double>(row + index * 8, value);
}

void writeScalar(const std::string &storage, std::byte *row, int64_t index, float value) {
  if (storage == "f32")
    return write<float>(row + index * 4, value);
  if (storage == "f16")
    return write<uint16_t>(row + index * 2, binary16OfFloat(value));
  if (storage == "bf16")
    return write<uint16_t>(row + index * 2, bfloat16OfFloat(value));
  unknown(storage, "scalars to write");
}

Block readBlock(const std::string &storage, const std::byte *row, int64_t block) {
  const std::byte *bytes = row + block * rowBytes(storage, blockElements(storage));
  if (storage == "q4_k" || storage == "q5_k")
    return readScaledBlock(storage == "q5_k", bytes);
  if (storage == "q6_k")
    return readQ6Block(bytes);
  if (isBlocks(storage))
    return readSmallBlock(storage, bytes);
  unknown(storage, "blocks");
}

const CodesLayout &codesLayout(const std::string &storage) {
  if (auto layout = codesLayouts().find(storage); layout != codesLayouts().end())
    return layout->second;
  unknown(storage, "activation codes");
}

ActivationRow::ActivationRow(const std::string &storage, std::byte *row, int64_t k)
    : layout(&codesLayout(storage)), row(row), k(k) {}

std::byte *ActivationRow::codeAt(int64_t index) const {
  if (layout->blockBytes == 0)
    return row + index;
  return row + index / layout->block * layout->blockBytes + layout->codeOffset +
         index % layout->block;
}
std::byte *ActivationRow::scaleAt(int64_t block) const {
  return layout->blockBytes == 0 ? row + k + block * 4 : row + block * layout->blockBytes;
}
std::byte *ActivationRow::sumAt(int64_t run) const {
  if (layout->summed == 0)
    throw ReferenceError("this storage holds no sums of codes");
  if (layout->blockBytes == 0)
    return row + k + k / layout->block * 4 + run * layout->sumBytes;
  const int64_t runs = layout->block / layout->summed; // of a block
  return row + run / runs * layout->blockBytes + layout->sumOffset + run % runs * layout->sumBytes;
}
std::byte *ActivationRow::valueSumAt(int64_t block) const {
  if (!layout->hasValueSum)
    throw ReferenceError("this storage holds no sum of values");
  return row + block * layout->blockBytes + layout->sumOffset;
}

int8_t ActivationRow::code(int64_t index) const {
  return read<int8_t>(codeAt(index));
}
float ActivationRow::scale(int64_t block) const {
  return layout->halfScale ? floatOfBinary16(read<uint16_t>(scaleAt(block)))
                           : read<float>(scaleAt(block));
}
int32_t ActivationRow::sum(int64_t run) const {
  return layout->sumBytes == 4 ? read<int32_t>(sumAt(run)) : read<int16_t>(sumAt(run));
}
float ActivationRow::valueSum(int64_t block) const {
  return floatOfBinary16(read<uint16_t>(valueSumAt(block)));
}
void ActivationRow::setCode(int64_t index, int8_t code) {
  write(codeAt(index), code);
}
void ActivationRow::setScale(int64_t block, float scale) {
  if (layout->halfScale)
    write(scaleAt(block), binary16OfFloat(scale));
  else
    write(scaleAt(block), scale);
}
void ActivationRow::setSum(int64_t run, int32_t sum) {
  if (layout->sumBytes == 4)
    write(sumAt(run), sum);
  else
    write(sumAt(run), static_cast<int16_t>(sum));
}
void ActivationRow::setValueSum(int64_t block, float sum) {
  write(valueSumAt(block), binary16OfFloat(sum));
}

} // namespace writ::reference
