//===- dequantization_test.cpp - every code point of every format ---------===//
//
// The expected values are written here once more, from the GGUF format's own definition, in
// binary64; the reference's decoder is compared with them, and the embedding kernels with the
// reference.
//
//===----------------------------------------------------------------------===//
#include "ir/Reference/Storage.h"
#include "tests/conformance/Problem.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

namespace writ::test {
namespace {

void putHalf(std::byte *at, uint32_t bits) {
  const auto half = static_cast<uint16_t>(bits);
  std::memcpy(at, &half, 2);
}

double valueOfHalf(uint32_t bits) {
  const int exponent = bits >> 10 & 31;
  const double sign = bits >> 15 ? -1 : 1;
  if (exponent == 31)
    return bits & 1023 ? std::nan("") : sign * INFINITY;
  return sign * std::ldexp((exponent ? 1024 : 0) + (bits & 1023), (exponent ? exponent : 1) - 25);
}

/// One row of one block through the embedding contract of a storage.
class Decoded {
public:
  explicit Decoded(const std::string &storage)
      : problem(makeProblem("embedding_" + storage + "_v0",
                            {{"rows", 1}, {"vocabulary", 1}, {"n", 32}}, {})) {
    problem->call.rows.token = {0};
  }
  std::byte *weight() { return problem->buffers.at("weight").base(); }
  std::span<float> values() {
    problem->evaluate();
    return problem->floats("out");
  }

private:
  std::unique_ptr<Problem> problem;
};

/// Scales of every exponent and of both signs, exceptional ones among them.
std::vector<uint32_t> halves() {
  std::vector<uint32_t> list;
  for (uint32_t exponent = 0; exponent < 32; ++exponent)
    for (const uint32_t fraction : {0u, 1u, 0x155u, 0x3ffu})
      for (const uint32_t sign : {0u, 0x8000u})
        list.push_back(sign | exponent << 10 | fraction);
  return list;
}

/// d * code and, for Q4_1, + m: products of 11 and 8 bits are exact in binary64, sums of two such
/// products too, so that one conversion rounds once.
void expectValue(float found, double exact) {
  const auto expected = static_cast<float>(exact);
  EXPECT_TRUE(sameFloat(found, expected) || (exact == 0 && found == 0)) << found << " " << exact;
}

TEST(F13_Dequantization, Q4_0) {
  Decoded decoded("q4_0");
  for (const uint32_t scale : halves())
    for (int code = 0; code < 16; ++code) {
      putHalf(decoded.weight(), scale);
      // Low and high nibbles differ, so that an exchange of the halves is seen.
      for (int i = 0; i < 16; ++i)
        decoded.weight()[2 + i] =
            static_cast<std::byte>((code + i) % 16 | ((code + 7 * i + 3) % 16) << 4);
      std::span<float> values = decoded.values();
      for (int i = 0; i < 16; ++i) {
        expectValue(values[i], valueOfHalf(scale) * ((code + i) % 16 - 8));
        expectValue(values[i + 16], valueOfHalf(scale) * ((code + 7 * i + 3) % 16 - 8));
      }
    }
}

TEST(F13_Dequantization, Q4_1) {
  Decoded decoded("q4_1");
  for (const uint32_t scale : halves())
    for (const uint32_t minimum : halves()) {
      putHalf(decoded.weight(), scale);
      putHalf(decoded.weight() + 2, minimum);
      for (int i = 0; i < 16; ++i)
        decoded.weight()[4 + i] = static_cast<std::byte>(i | (15 - i) << 4);
      std::span<float> values = decoded.values();
      for (int i = 0; i < 16; ++i) {
        expectValue(values[i], valueOfHalf(scale) * i + valueOfHalf(minimum));
        expectValue(values[i + 16], valueOfHalf(scale) * (15 - i) + valueOfHalf(minimum));
      }
    }
}

TEST(F13_Dequantization, Q8_0) {
  Decoded decoded("q8_0");
  for (const uint32_t scale : halves())
    for (int first = -128; first < 128; first += 32) {
      putHalf(decoded.weight(), scale);
      for (int i = 0; i < 32; ++i)
        decoded.weight()[2 + i] = static_cast<std::byte>(static_cast<int8_t>(first + i));
      std::span<float> values = decoded.values();
      for (int i = 0; i < 32; ++i)
        expectValue(values[i], valueOfHalf(scale) * (first + i));
    }
}

TEST(F13_Dequantization, F16AndBf16EveryCodePoint) {
  for (const std::string storage : {"f16", "bf16"}) {
    Decoded decoded(storage);
    for (uint32_t first = 0; first < 0x10000; first += 32) {
      for (uint32_t i = 0; i < 32; ++i)
        putHalf(decoded.weight() + 2 * i, first + i);
      std::span<float> values = decoded.values();
      for (uint32_t i = 0; i < 32; ++i) {
        const auto expected = storage == "f16" ? static_cast<float>(valueOfHalf(first + i))
                                               : std::bit_cast<float>((first + i) << 16);
        EXPECT_TRUE(sameFloat(values[i], expected)) << storage << " " << first + i;
      }
    }
  }
}

} // namespace
} // namespace writ::test
