//===- exceptional_linear_test.cpp - NaN, infinities and the rest in products ---------------===//
//
// What linear and embedding give for exceptional elements, scales and codes: known answers, for
// every registered contract of the two families.
//
//===----------------------------------------------------------------------===//
#include "ir/Reference/Storage.h"
#include "tests/conformance/Problem.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

namespace writ::test {
namespace {

constexpr float kInfinite = std::numeric_limits<float>::infinity();
constexpr float kLargest = std::numeric_limits<float>::max();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr int64_t kColumns = 3;

bool isBlocks(const std::string &storage) {
  return storage.starts_with("q") || storage.starts_with("i8_");
}

/// Two rows of two blocks, three columns, every product positive: weights of all bits set (or 1),
/// activation codes (or elements) of 1, no minimum, no bias.
class Linear {
public:
  explicit Linear(const std::string &contract)
      : weight(Data::get().contracts.at(contract)["operands"]["weight"]["storage"]),
        activation(Data::get().contracts.at(contract)["operands"]["activation"]["storage"]),
        elements(isBlocks(weight) ? reference::blockElements(weight) : 32),
        problem(makeProblem(contract, {{"rows", 2}, {"k", 2 * elements}, {"n", kColumns}},
                            {.bias = false})) {
    if (isBlocks(weight)) {
      const std::span<std::byte> bytes = problem->buffers.at("weight").bytes();
      std::fill(bytes.begin(), bytes.end(), std::byte{0xff});
      for (int64_t column = 0; column < kColumns; ++column)
        for (int64_t block = 0; block < 2; ++block)
          setWeight(column, block, 1);
    } else {
      for (int64_t i = 0; i < 2 * elements * kColumns; ++i)
        reference::writeScalar(weight, problem->buffers.at("weight").base(), i, 1);
    }
    for (int64_t row = 0; row < 2; ++row)
      for (int64_t block = 0; block < 2; ++block)
        setActivation(row, block, 1, 1);
  }

  /// The scale of a weight's block, without a minimum; of scalars its first element.
  void setWeight(int64_t column, int64_t block, float value) {
    std::byte *bytes = problem->buffers.at("weight").base();
    if (!isBlocks(weight))
      return reference::writeScalar(weight, bytes, (column * 2 + block) * elements, value);
    const int64_t size = reference::rowBytes(weight, elements);
    std::byte *at = bytes + (column * 2 + block) * size;
    const bool hasMinimum = weight.ends_with("_1") || weight == "q4_k" || weight == "q5_k";
    reference::writeScalar("f16", at + (weight == "q6_k" ? 208 : 0), 0, value);
    if (hasMinimum)
      reference::writeScalar("f16", at + 2, 0, 0);
  }

  /// The scale and all codes of an activation's block; of scalars the first element, the others 1.
  void setActivation(int64_t row, int64_t block, float scale, int8_t code) {
    const int64_t k = 2 * elements;
    std::byte *bytes =
        problem->buffers.at("activation").base() + row * reference::rowBytes(activation, k);
    if (!isBlocks(activation)) {
      for (int64_t i = 0; i < elements; ++i)
        reference::writeScalar(activation, bytes, block * elements + i, i ? 1.0f : scale);
      return;
    }
    reference::ActivationRow codes(activation, bytes, k);
    for (int64_t i = 0; i < elements; ++i)
      codes.setCode(block * elements + i, code);
    codes.setScale(block, scale);
    const int64_t summed = codes.sumElements();
    for (int64_t run = 0; summed && run < elements / summed; ++run)
      codes.setSum(block * (elements / summed) + run, static_cast<int32_t>(summed * code));
    if (codes.hasValueSum())
      codes.setValueSum(block, scale * static_cast<float>(elements * code));
  }

  /// The sign of every weight.
  float sign() const {
    return weight == "q8_0" || weight == "q6_k" ? -1.0f : 1.0f; // code -1; sub-scale -1, code 31
  }

  float result(int64_t row, int64_t column) {
    problem->evaluate();
    return problem->values("out")[static_cast<size_t>(row * kColumns + column)];
  }

  std::string weight, activation;
  int64_t elements;
  std::unique_ptr<Problem> problem;
};

std::vector<std::string> contractsOf(const std::string &family) {
  std::vector<std::string> ids;
  for (const auto &[id, contract] : Data::get().contracts)
    if (contract["family"] == family)
      ids.push_back(id);
  return ids;
}

class F8_ExceptionalLinear : public testing::TestWithParam<std::string> {};

TEST_P(F8_ExceptionalLinear, ANaNIsInItsRowOrColumnAlone) {
  const nlohmann::json &contract = Data::get().contracts.at(GetParam());
  ASSERT_EQ(contract["exceptional"]["nan"], "propagates");
  Linear left(GetParam()), right(GetParam());
  left.setActivation(0, 1, kNaN, 0); // codes of a block that was not finite are 0
  right.setWeight(1, 0, kNaN);
  for (int64_t row = 0; row < 2; ++row)
    for (int64_t column = 0; column < kColumns; ++column) {
      EXPECT_EQ(std::isnan(left.result(row, column)), row == 0) << row << ", " << column;
      EXPECT_EQ(std::isnan(right.result(row, column)), column == 1) << row << ", " << column;
    }
}

TEST_P(F8_ExceptionalLinear, AnInfinityGoesByIeee) {
  ASSERT_EQ(Data::get().contracts.at(GetParam())["exceptional"]["infinity"], "ieee");
  Linear one(GetParam());
  one.setWeight(1, 0, kInfinite);
  EXPECT_EQ(one.result(0, 1), one.sign() * kInfinite);
  EXPECT_TRUE(std::isfinite(one.result(0, 0)) && std::isfinite(one.result(1, 2)));
  one.setWeight(1, 1, -kInfinite);
  EXPECT_TRUE(std::isnan(one.result(0, 1))) << "inf - inf";
  one.setWeight(1, 1, 1);
  one.setActivation(0, 0, isBlocks(one.activation) ? 1 : 0, 0);
  EXPECT_TRUE(std::isnan(one.result(0, 1))) << "inf * 0";
  EXPECT_EQ(one.result(1, 1), one.sign() * kInfinite);
}

TEST_P(F8_ExceptionalLinear, WhatIsTooLargeIsInfinite) {
  ASSERT_EQ(Data::get().contracts.at(GetParam())["exceptional"]["overflow"], "to_infinity");
  Linear one(GetParam());
  if (one.activation == "q8_0" || one.activation == "q8_1")
    return; // two scales of binary16 do not overflow binary32
  const bool isHalf = one.activation == "f16";
  one.setActivation(1, 0, isHalf ? 60000 : kLargest, 1);
  one.setWeight(2, 0, isHalf ? 60000 : 8);
  if (isHalf && one.problem->contract["operands"]["out"]["storage"] == "f32") {
    EXPECT_GT(one.result(1, 2), 3e9f) << "beyond binary16, and no infinity";
  } else {
    EXPECT_EQ(one.result(1, 2), one.sign() * kInfinite);
  }
  EXPECT_TRUE(std::isfinite(one.result(0, 2)));
}

TEST_P(F8_ExceptionalLinear, SubnormalsAreKeptOrFlushedAsItSays) {
  const std::string word = Data::get().contracts.at(GetParam())["exceptional"]["subnormal"];
  Linear one(GetParam());
  const bool isHalf =
      one.activation == "f16" || one.activation == "q8_0" || one.activation == "q8_1";
  const std::string compute = Data::get().contracts.at(GetParam())["activation_compute"];
  const float least = isHalf || compute == "fp16_rounded" ? 0x1p-24f
                      : compute == "bf16_rounded"         ? 0x1p-133f
                                                          : 0x1p-149f;
  for (int64_t block = 0; block < 2; ++block)
    one.setActivation(0, block, 0, 0);
  if (!isBlocks(one.activation)) // one element, times one weight
    for (int64_t i = 0; i < 2 * one.elements; ++i)
      reference::writeScalar(one.activation, one.problem->buffers.at("activation").base(), i,
                             i ? 0.0f : least);
  else
    one.setActivation(0, 0, least, 1);
  const float before = one.result(0, 0);
  if (word == "flushed_in_multiply_add") {
    EXPECT_EQ(before, 0);
    return;
  }
  ASSERT_EQ(word, "kept");
  EXPECT_NE(before, 0);
  EXPECT_LE(std::fabs(before), least * 63 * 31 * 256); // the largest weights of a whole block
  EXPECT_EQ(std::fmod(before, least), 0) << "a multiple, exactly";
  EXPECT_EQ(std::signbit(before), one.sign() < 0);
}

INSTANTIATE_TEST_SUITE_P(, F8_ExceptionalLinear, testing::ValuesIn(contractsOf("linear")),
                         [](const auto &info) { return info.param; });

/// One token of two blocks, all codes of all bits set.
struct Embedding {
  explicit Embedding(const std::string &contract)
      : weight(Data::get().contracts.at(contract)["operands"]["weight"]["storage"]),
        elements(isBlocks(weight) ? reference::blockElements(weight) : 32),
        problem(makeProblem(contract, {{"rows", 1}, {"vocabulary", 2}, {"n", 2 * elements}}, {})) {
    const std::span<std::byte> bytes = problem->buffers.at("weight").bytes();
    std::fill(bytes.begin(), bytes.end(), std::byte{0xff});
    for (int64_t token = 0; token < 2; ++token)
      for (int64_t block = 0; block < 2; ++block)
        set(token, block, 1);
    problem->call.rows.token = {1};
  }
  /// A block's scale, or every element.
  void set(int64_t token, int64_t block, float value) {
    std::byte *at = problem->buffers.at("weight").base() +
                    (token * 2 + block) * reference::rowBytes(weight, elements);
    if (!isBlocks(weight)) {
      for (int64_t i = 0; i < elements; ++i)
        reference::writeScalar(weight, at, i, value);
      return;
    }
    reference::writeScalar("f16", at + (weight == "q6_k" ? 208 : 0), 0, value);
    if (weight.ends_with("_1") || weight == "q4_k" || weight == "q5_k")
      reference::writeScalar("f16", at + 2, 0, 0);
  }
  std::vector<float> result() {
    problem->evaluate();
    return problem->values("out");
  }
  std::string weight;
  int64_t elements;
  std::unique_ptr<Problem> problem;
};

class F8_ExceptionalEmbedding : public testing::TestWithParam<std::string> {};

TEST_P(F8_ExceptionalEmbedding, ANaNOrAnInfinityIsInItsBlockAlone) {
  const bool isNegative =
      Embedding(GetParam()).weight == "q8_0" || Embedding(GetParam()).weight == "q6_k";
  for (const float value : {kNaN, kInfinite, -kInfinite}) {
    Embedding one(GetParam());
    one.set(1, 1, value);
    one.set(0, 0, kNaN); // of another token
    const std::vector<float> out = one.result();
    for (int64_t i = 0; i < 2 * one.elements; ++i) {
      const bool isAsItShouldBe =
          i < one.elements ? std::isfinite(out[i]) : sameFloat(out[i], isNegative ? -value : value);
      EXPECT_TRUE(isAsItShouldBe) << i << ": " << out[i];
    }
  }
}

TEST_P(F8_ExceptionalEmbedding, TheScaleOverflowsWhereItSaysSo) {
  Embedding one(GetParam());
  if (isBlocks(one.weight) || one.weight == "f16")
    return; // of binary16 numbers, none is too large for binary32
  one.set(1, 0, kLargest);
  const bool overflows =
      Data::get().contracts.at(GetParam())["exceptional"]["overflow"] == "to_infinity";
  const float stored =
      reference::readScalar(one.weight, one.problem->buffers.at("weight").base(), 2 * one.elements);
  EXPECT_EQ(one.result()[0], overflows ? kInfinite : stored);
}

TEST_P(F8_ExceptionalEmbedding, SubnormalsAndTheSignOfZeroAreKept) {
  Embedding one(GetParam());
  const bool isHalf = isBlocks(one.weight) || one.weight == "f16";
  one.set(1, 0, isHalf ? 0x1p-24f : one.weight == "bf16" ? 0x1p-133f : 0x1p-149f);
  one.set(1, 1, -0.0f);
  const std::vector<float> out = one.result();
  EXPECT_NE(out[0], 0);
  EXPECT_EQ(out[one.elements], 0);
  const bool positive = one.weight == "q8_0" || one.weight == "q6_k"; // -0 of a negative code
  const bool addsAZero = one.weight.ends_with("_1") || one.weight == "q4_k" || one.weight == "q5_k";
  if (!addsAZero) { // -0 + 0 is +0
    EXPECT_EQ(std::signbit(out[one.elements]), !positive);
  }
}

INSTANTIATE_TEST_SUITE_P(, F8_ExceptionalEmbedding, testing::ValuesIn(contractsOf("embedding")),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace writ::test
