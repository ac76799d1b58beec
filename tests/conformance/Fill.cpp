//===- Fill.cpp - what values an operand is filled with -------------------===//
#include "tests/conformance/Fill.h"

#include "ir/Reference/Storage.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace writ::test {
namespace {

constexpr float kInfinite = std::numeric_limits<float>::infinity();

/// The size of what dominates, of a sum of `units`.
float dominance(int64_t units) {
  return static_cast<float>(std::max<int64_t>(1024, 4 * units));
}

/// The negative, but for a few units in the last place.
float nearlyNegative(float value, Random &random) {
  return -value * static_cast<float>(1 + random.uniform(-4, 4) * 0x1p-23);
}

float specialOr(float plain, Random &random) {
  constexpr float largest = std::numeric_limits<float>::max();
  constexpr float values[] = {std::numeric_limits<float>::quiet_NaN(),
                              kInfinite,
                              -kInfinite,
                              -0.0f,
                              largest,
                              -largest,
                              0x1p-149f,
                              0x1p-126f};
  // Rare enough that some rows stay free of NaN.
  return random.below(40) == 0 ? values[random.below(8)] : plain;
}

/// The values of an operand, run after run.
class Runs {
public:
  Runs(const Filling &filling, Random &random) : filling(filling), random(random) {}
  std::vector<float> next();

private:
  float draw(int64_t index);
  void cancel(std::vector<float> &run);
  void dominate(std::vector<float> &run);
  void alternate(std::vector<float> &run);

  Filling filling;
  Random &random;
  std::vector<float> before; ///< the run before
  bool isOdd = false;
  int exponent = 0; ///< of the unit, where magnitudes are spread
};

float Runs::draw(int64_t index) {
  const auto plain =
      static_cast<float>(random.uniform(-1, 1) + random.uniform(-1, 1) + random.uniform(-1, 1));
  switch (filling.fill) {
  case Fill::spread:
    if (index % filling.unit == 0)
      exponent = filling.exponent + static_cast<int>(random.below(41)) - 20;
    return std::ldexp(plain, exponent);
  case Fill::equal:
    return 0.7f;
  case Fill::tiny: // a factor as small would leave nothing of the product
    return filling.part == Part::factor
               ? plain
               : std::ldexp(plain, -120 - static_cast<int>(random.below(30)));
  case Fill::special:
    return specialOr(plain, random);
  default:
    return plain;
  }
}

void Runs::cancel(std::vector<float> &run) {
  const bool isFactor = filling.part == Part::factor;
  if (filling.part == Part::addend) {
    for (float &value : run)
      value *= 0x1p-14f;
    return;
  }
  if (!isFactor)
    for (float &value : run)
      value *= 64;
  if (filling.part == Part::across) {
    for (size_t i = 0; isOdd && i < run.size(); ++i)
      run[i] = nearlyNegative(before[i], random);
    return;
  }
  const auto size = static_cast<int64_t>(run.size());
  const int64_t distance = filling.unit * mirrorDistance(size / filling.unit);
  for (int64_t i = 0; i < size; ++i) {
    if (i / (2 * distance) == size / (2 * distance)) // without a partner
      run[i] *= isFactor ? 1 : 0x1p-14f;
    else if (i / distance % 2)
      run[i] = isFactor ? run[i - distance] : nearlyNegative(run[i - distance], random);
  }
}

void Runs::dominate(std::vector<float> &run) {
  if (filling.part == Part::addend)
    return;
  if (filling.part != Part::term) { // none so small that it hides what dominates
    for (float &value : run)
      value = std::copysign((1 + std::fabs(value)) / 2, value);
    return;
  }
  const int64_t units = std::max<int64_t>(1, static_cast<int64_t>(run.size()) / filling.unit);
  const int64_t chosen = random.below(units);
  for (size_t i = 0; i < run.size(); ++i)
    if (static_cast<int64_t>(i) / filling.unit == chosen)
      run[i] = std::copysign(dominance(units) * (1 + std::fabs(run[i]) / 3), run[i]);
}

void Runs::alternate(std::vector<float> &run) {
  const auto unit = static_cast<size_t>(filling.unit);
  const std::vector<float> drawn = run;
  for (size_t i = 0; i < run.size(); ++i) {
    const bool isNegative = filling.part == Part::across ? isOdd
                            : filling.part == Part::term ? i / unit % 2
                                                         : false;
    run[i] = filling.part == Part::addend
                 ? run[i] * 0x1p-6f
                 : (isNegative ? -1.0f : 1.0f) * (1 + drawn[i / unit * unit] * 0x1p-6f);
  }
}

std::vector<float> Runs::next() {
  std::vector<float> run(static_cast<size_t>(filling.run));
  for (size_t i = 0; i < run.size(); ++i)
    run[i] = draw(static_cast<int64_t>(i));
  if (filling.fill == Fill::cancelling)
    cancel(run);
  else if (filling.fill == Fill::dominating)
    dominate(run);
  else if (filling.fill == Fill::alternating)
    alternate(run);
  isOdd = !isOdd;
  return before = run;
}

void putHalf(std::byte *at, uint16_t bits) {
  std::memcpy(at, &bits, 2);
}

/// A binary16 scale or minimum.
uint16_t halfScale(Fill fill, Random &random) {
  const auto raw = static_cast<uint16_t>(random.bits());
  switch (fill) {
  case Fill::special:
    switch (random.below(6)) {
    case 0:
      return 0x7c00; // infinity
    case 1:
      return 0x7e01; // NaN
    case 2:
      return 0x8000; // -0
    case 3:
      return 0x7bff; // the largest
    }
    return raw & 0xbfff;
  case Fill::tiny:
    return raw & 0x83ff;
  case Fill::equal:
    return 0x2000; // 2^-7
  case Fill::spread:
    return raw & 0xbfff; // below 2
  default:
    return (raw & 0x83ff) | static_cast<uint16_t>((4 + random.below(5)) << 10);
  }
}

/// Where the binary16 scale and minimum of a block stand; a block's other bytes are any.
std::vector<size_t> halvesOf(const std::string &storage) {
  if (storage == "q6_k")
    return {208};
  if (storage == "q4_1" || storage == "q5_1" || storage == "q4_k" || storage == "q5_k")
    return {0, 2};
  return {0};
}

/// The block of a run of `blocks` that block `b` equals, but for signs and scales; itself where it
/// equals none.
int64_t partnerOf(Fill fill, int64_t b, int64_t blocks) {
  const int64_t distance = mirrorDistance(blocks);
  if (fill == Fill::alternating)
    return 0;
  if (fill == Fill::cancelling && b / (2 * distance) < blocks / (2 * distance) && b / distance % 2)
    return b - distance;
  return b;
}

void fillBlock(std::span<std::byte> block, const std::string &storage, Fill fill, Random &random) {
  for (std::byte &byte : block)
    byte = fill == Fill::equal ? std::byte{0x11} : static_cast<std::byte>(random.bits());
  // Now and then the largest codes and sub-scales everywhere, or those of the most negative sum.
  if (fill != Fill::equal && random.below(8) == 0)
    std::fill(block.begin(), block.end(), random.below(2) ? std::byte{0xff} : std::byte{0x80});
  for (const size_t half : halvesOf(storage))
    putHalf(block.data() + half, halfScale(fill, random));
}

/// Weights: the factor beside activations. What cancels or alternates are the terms of blocks, so
/// that blocks are the same where activations differ in sign.
void fillBlocks(std::span<std::byte> bytes, const std::string &storage, const Filling &filling,
                Random &random) {
  const int64_t elements = reference::blockElements(storage);
  const auto size = static_cast<size_t>(reference::rowBytes(storage, elements));
  const int64_t blocks = std::max<int64_t>(1, filling.run / elements);
  for (size_t at = 0, b = 0; at < bytes.size(); at += size, ++b) {
    const std::span<std::byte> block = bytes.subspan(at, size);
    const auto inRun = static_cast<int64_t>(b) % blocks;
    const int64_t partner = partnerOf(filling.fill, inRun, blocks);
    if (partner == inRun) {
      fillBlock(block, storage, filling.fill, random);
      continue;
    }
    const std::byte *other = block.data() - static_cast<size_t>(inRun - partner) * size;
    std::copy_n(other, size, block.data());
    for (const size_t half : halvesOf(storage)) // of nearly one size: the last four of ten bits
      if (filling.fill == Fill::alternating)
        block[half] ^= static_cast<std::byte>(random.below(16));
  }
}

/// A block of Q8_0 of the values nearest to these.
void writeQ8(std::byte *block, std::span<const float> values) {
  float largest = 0;
  for (const float value : values)
    largest = std::max(largest, std::fabs(value));
  reference::writeScalar("f16", block, 0, largest / 127);
  const float scale = reference::readScalar("f16", block, 0);
  for (size_t i = 0; i < values.size(); ++i)
    block[2 + i] = static_cast<std::byte>(static_cast<int8_t>(
        scale > 0 ? std::clamp(std::nearbyint(values[i] / scale), -127.0f, 127.0f) : 0));
}

/// What brings values of the widest and the least fills into binary16's range.
float narrowing(const Filling &filling) {
  if (filling.fill == Fill::tiny && filling.part != Part::factor)
    return 0x1p112f;
  return filling.fill == Fill::spread ? 0x1p-8f : 1.0f;
}

void writeRun(std::byte *at, const std::string &storage, const Filling &filling,
              std::span<const float> run) {
  for (size_t i = 0; i < run.size(); ++i)
    if (storage == "bf16")
      putHalf(at + 2 * i, static_cast<uint16_t>(std::bit_cast<uint32_t>(run[i]) >> 16));
    else
      reference::writeScalar(storage, at, static_cast<int64_t>(i),
                             storage == "f16" ? run[i] * narrowing(filling) : run[i]);
}

} // namespace

const char *nameOf(Fill fill) {
  constexpr const char *names[] = {"plain", "cancelling", "spread",      "equal",
                                   "tiny",  "dominating", "alternating", "special"};
  return names[static_cast<int>(fill)];
}

int64_t mirrorDistance(int64_t units) {
  return static_cast<int64_t>(std::bit_floor(std::clamp<uint64_t>(uint64_t(units) / 2, 1, 8)));
}

void fillCodes(std::span<std::byte> bytes, const std::string &storage, const Filling &filling,
               Random &random) {
  const Fill fill = filling.fill;
  const int64_t columns = filling.run, stride = reference::rowBytes(storage, columns);
  std::fill(bytes.begin(), bytes.end(), std::byte{0xee}); // the padding is nobody's
  for (size_t at = 0; at < bytes.size(); at += static_cast<size_t>(stride)) {
    reference::ActivationRow row(storage, bytes.data() + at, columns);
    const int64_t elements = row.blockElements(), summed = row.sumElements();
    const int64_t blocks = columns / elements;
    const std::vector<float> scales = Runs({fill, Part::term, blocks, 1, 0}, random).next();
    for (int64_t block = 0; block < blocks; ++block) {
      float scale = std::fabs(scales[block]);
      if (row.hasHalfScale()) // it and the sum of the values stay in binary16's range
        scale *= fill == Fill::spread       ? 0x1p-20f
                 : fill == Fill::cancelling ? 0x1p-8f
                 : fill == Fill::dominating ? 4 / dominance(blocks)
                 : fill == Fill::tiny       ? 0x1p112f
                                            : 1.0f;
      const bool noCodes = !std::isfinite(scale);
      const int64_t partner = partnerOf(fill, block, blocks);
      const bool isNegated = std::signbit(scales[block]) != std::signbit(scales[partner]);
      const int64_t extreme = random.below(8); // all of one sign, of mixed signs, or any codes
      for (int64_t i = 0; i < elements; ++i) {
        auto code = static_cast<int8_t>(random.below(255) - 127);
        if (extreme < 2)
          code = extreme ? 127 : -127;
        else if (extreme == 2)
          code = random.below(2) ? 127 : -127;
        if (fill == Fill::equal)
          code = 127;
        if (noCodes)
          code = 0;
        if (partner != block) {
          code = row.code(partner * elements + i);
          code = static_cast<int8_t>(isNegated ? -code : code);
        }
        row.setCode(block * elements + i, code);
      }
      scale = noCodes ? std::numeric_limits<float>::quiet_NaN() : scale;
      row.setScale(block, scale);
      if (row.hasValueSum()) {
        int32_t sum = 0;
        for (int64_t i = block * elements; i < (block + 1) * elements; ++i)
          sum += row.code(i);
        row.setValueSum(block, scale * static_cast<float>(sum));
      }
    }
    for (int64_t run = 0; run < (summed ? columns / summed : 0); ++run) {
      int32_t sum = 0;
      for (int64_t i = run * summed; i < (run + 1) * summed; ++i)
        sum += row.code(i);
      row.setSum(run, sum);
    }
  }
}

void fill(std::span<std::byte> bytes, const std::string &storage, const Filling &filling,
          Random &random) {
  if (storage.starts_with("i8_") || storage == "q8_1" || storage == "q8_k")
    return fillCodes(bytes, storage, filling, random);
  if (storage.starts_with("q"))
    return fillBlocks(bytes, storage, filling, random);
  const auto element = static_cast<size_t>(reference::rowBytes(storage, 1));
  const auto size = element * static_cast<size_t>(filling.run);
  Runs values(filling, random);
  for (size_t at = 0; size > 0 && at < bytes.size(); at += size) {
    std::vector<float> run = values.next();
    run.resize(std::min(run.size(), (bytes.size() - at) / element));
    writeRun(bytes.data() + at, storage, filling, run);
  }
}

void fillPlane(std::span<std::byte> bytes, const std::string &storage, const Filling &filling,
               Random &random) {
  const bool isShaped = filling.fill == Fill::cancelling || filling.fill == Fill::dominating ||
                        filling.fill == Fill::alternating;
  if (!storage.starts_with("q") || !isShaped)
    return fill(bytes, storage, filling, random);
  const auto elements = static_cast<size_t>(reference::blockElements(storage));
  const auto size = static_cast<size_t>(reference::rowBytes(storage, int64_t(elements)));
  Runs values(filling, random);
  for (size_t at = 0; at < bytes.size();) {
    const std::vector<float> run = values.next();
    for (size_t i = 0; i < run.size(); i += elements, at += size)
      writeQ8(bytes.data() + at, std::span(run).subspan(i, elements));
  }
}

} // namespace writ::test
