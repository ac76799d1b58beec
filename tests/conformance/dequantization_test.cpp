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
#include <fstream>
#include <gtest/gtest.h>
#include <set>

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

/// One row of one block, or of `n` elements, through the embedding contract of a storage.
class Decoded {
public:
  explicit Decoded(const std::string &storage, int64_t n = 32)
      : problem(makeProblem("embedding_" + storage + "_v0",
                            {{"rows", 1}, {"vocabulary", 1}, {"n", n}}, {})) {
    problem->call.rows.token = {0};
  }
  size_t bytes() const { return problem->buffers.at("weight").bytes().size(); }
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

/// d * code and, for Q4_1 and Q5_1, + m, for Q4_K and Q5_K d * sc * code - dmin * mn, for Q6_K
/// d * sc * code: such products have at most 24 bits, all multiples of 2^-24 below 2^28, so that
/// sums of two are exact in binary64 and one conversion rounds once.
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

TEST(F13_Dequantization, Q5_0) {
  Decoded decoded("q5_0");
  for (const uint32_t scale : halves())
    for (int first = 0; first < 32; ++first) {
      // element e has code (first + 11 e) mod 32: every element takes every code
      uint32_t high = 0;
      putHalf(decoded.weight(), scale);
      for (int i = 0; i < 16; ++i) {
        const int low = (first + 11 * i) % 32, up = (first + 11 * (i + 16)) % 32;
        decoded.weight()[6 + i] = static_cast<std::byte>(low % 16 + up % 16 * 16);
        high += (low / 16 ? 1u << i : 0) + (up / 16 ? 1u << (i + 16) : 0);
      }
      std::memcpy(decoded.weight() + 2, &high, 4);
      std::span<float> values = decoded.values();
      for (int e = 0; e < 32; ++e)
        expectValue(values[e], valueOfHalf(scale) * ((first + 11 * e) % 32 - 16));
    }
}

TEST(F13_Dequantization, Q5_1) {
  Decoded decoded("q5_1");
  for (const uint32_t scale : halves())
    for (const uint32_t minimum : halves()) {
      // element e has code e xor 21
      uint32_t high = 0;
      putHalf(decoded.weight(), scale);
      putHalf(decoded.weight() + 2, minimum);
      for (int i = 0; i < 16; ++i) {
        const int low = i ^ 21, up = (i + 16) ^ 21;
        decoded.weight()[8 + i] = static_cast<std::byte>(low % 16 + up % 16 * 16);
        high += (low / 16 ? 1u << i : 0) + (up / 16 ? 1u << (i + 16) : 0);
      }
      std::memcpy(decoded.weight() + 4, &high, 4);
      std::span<float> values = decoded.values();
      for (int e = 0; e < 32; ++e)
        expectValue(values[e], valueOfHalf(scale) * (e ^ 21) + valueOfHalf(minimum));
    }
}

/// Puts 8 pairs of 6-bit numbers into 12 bytes, as ggml's K-quants do.
void putSixBits(std::byte *bytes, const int *scale, const int *minimum) {
  for (int j = 0; j < 4; ++j) {
    bytes[j] = static_cast<std::byte>(scale[j] | scale[j + 4] >> 4 << 6);
    bytes[j + 4] = static_cast<std::byte>(minimum[j] | minimum[j + 4] >> 4 << 6);
    bytes[j + 8] = static_cast<std::byte>((scale[j + 4] & 15) | (minimum[j + 4] & 15) << 4);
  }
}

/// Over all blocks each sub-block takes each of the 64 sub-scales with each code of `bits` bits,
/// each sub-minimum, and d and dmin all of halves().
void checkSixBitScales(const std::string &storage, int bits) {
  Decoded decoded(storage, 256);
  const std::vector<uint32_t> scales = halves();
  std::byte *high = decoded.weight() + 16, *nibbles = bits == 5 ? high + 32 : high;
  for (int s = 0; s < 64; ++s)
    for (int turn = 0; turn < 16; ++turn) {
      const uint32_t d = scales[(s * 16 + turn) % scales.size()];
      const uint32_t dmin = scales[(s * 37 + turn * 5 + 11) % scales.size()];
      int scale[8], minimum[8];
      const auto code = [&](int j, int i) { return (i + 3 * j + turn) % (1 << bits); };
      for (int j = 0; j < 8; ++j) {
        scale[j] = (s + 9 * j) % 64;
        minimum[j] = (5 * s + 7 * j + turn) % 64;
      }
      putHalf(decoded.weight(), d);
      putHalf(decoded.weight() + 2, dmin);
      putSixBits(decoded.weight() + 4, scale, minimum);
      for (int i = 0; i < 32; ++i) {
        int bit = 0;
        for (int j = 0; j < 8; ++j)
          bit |= code(j, i) >> 4 << j;
        if (bits == 5)
          high[i] = static_cast<std::byte>(bit);
        for (int pair = 0; pair < 4; ++pair)
          nibbles[pair * 32 + i] =
              static_cast<std::byte>(code(2 * pair, i) % 16 | code(2 * pair + 1, i) % 16 << 4);
      }
      std::span<float> values = decoded.values();
      for (int e = 0; e < 256; ++e)
        expectValue(values[e], valueOfHalf(d) * scale[e / 32] * code(e / 32, e % 32) -
                                   valueOfHalf(dmin) * minimum[e / 32]);
    }
}

TEST(F13_Dequantization, Q4_K) {
  checkSixBitScales("q4_k", 4);
}

TEST(F13_Dequantization, Q5_K) {
  checkSixBitScales("q5_k", 5);
}

TEST(F13_Dequantization, Q6_K) {
  Decoded decoded("q6_k", 256);
  const std::vector<uint32_t> scales = halves();
  for (int s = 0; s < 256; ++s)
    for (int turn = 0; turn < 8; ++turn) { // each sub-block takes each sub-scale with each code
      const uint32_t d = scales[(s * 8 + turn) % scales.size()];
      const auto scale = [&](int j) { return (s + 16 * j) % 256 - 128; };
      const auto code = [&](int e) { return (e % 16 + 16 * turn + 3 * (e / 16)) % 64; };
      putHalf(decoded.weight() + 208, d);
      for (int j = 0; j < 16; ++j)
        decoded.weight()[192 + j] = static_cast<std::byte>(static_cast<int8_t>(scale(j)));
      for (int half = 0; half < 2; ++half)
        for (int i = 0; i < 32; ++i) {
          const auto of = [&](int part) { return code(half * 128 + part * 32 + i); };
          decoded.weight()[half * 64 + i] = static_cast<std::byte>(of(0) % 16 | of(2) % 16 << 4);
          decoded.weight()[half * 64 + 32 + i] =
              static_cast<std::byte>(of(1) % 16 | of(3) % 16 << 4);
          decoded.weight()[128 + half * 32 + i] = static_cast<std::byte>(
              of(0) / 16 | of(1) / 16 << 2 | of(2) / 16 << 4 | of(3) / 16 << 6);
        }
      std::span<float> values = decoded.values();
      for (int e = 0; e < 256; ++e)
        expectValue(values[e], valueOfHalf(d) * scale(e / 16) * (code(e) - 32));
    }
}

/// Hexadecimal digits, `digits` to a number.
std::vector<uint32_t> numbersOf(const std::string &text, size_t digits) {
  std::vector<uint32_t> numbers;
  for (size_t at = 0; at < text.size(); at += digits)
    numbers.push_back(static_cast<uint32_t>(std::stoul(text.substr(at, digits), nullptr, 16)));
  return numbers;
}

// What the Python package gguf, which ggml's authors keep, makes of the same bytes.
TEST(F13_Dequantization, EqualsWhatGgufRecorded) {
  std::ifstream file(WRIT_SOURCE_DIR "/tests/data/dequantization/gguf.json");
  const nlohmann::json record = nlohmann::json::parse(file);
  std::set<std::string> compared;
  for (const auto &[storage, recorded] : record["storages"].items()) {
    const std::vector<uint32_t> bytes = numbersOf(recorded["blocks"], 2);
    const std::vector<uint32_t> expected = numbersOf(recorded["values"], 8);
    ASSERT_FALSE(expected.empty());
    Decoded decoded(storage, static_cast<int64_t>(expected.size()));
    ASSERT_EQ(decoded.bytes(), bytes.size()) << storage;
    for (size_t i = 0; i < bytes.size(); ++i)
      decoded.weight()[i] = static_cast<std::byte>(bytes[i]);
    std::span<float> values = decoded.values();
    for (size_t i = 0; i < expected.size(); ++i)
      // the sign of a zero is no part of what gguf says
      EXPECT_TRUE(sameFloat(values[i], std::bit_cast<float>(expected[i])) ||
                  (values[i] == 0 && std::bit_cast<float>(expected[i]) == 0))
          << storage << " " << i << " " << values[i];
    compared.insert(storage);
  }
  for (const auto &[word, entry] : Data::get().vocabulary["words"]["storage"].items())
    if (entry["kind"] == "block") {
      EXPECT_TRUE(compared.contains(word)) << word << " has no recorded blocks";
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
