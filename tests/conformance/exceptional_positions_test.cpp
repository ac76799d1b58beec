//===- exceptional_positions_test.cpp - NaN, infinities and the rest elsewhere --------------===//
//
// Known answers of rotations, their tables, log-probabilities, attention over every storage and the
// activation codes of ggml, for exceptional operands.
//
//===----------------------------------------------------------------------===//
#include "ir/Reference/Storage.h"
#include "tests/conformance/Problem.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace writ::test {
namespace {

constexpr float kInfinite = std::numeric_limits<float>::infinity();
constexpr float kLargest = std::numeric_limits<float>::max();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// One rotation of (x0, x1) by the cosine and sine given, among others of 1 by no angle.
std::pair<float, float> rotated(const std::string &contract, float x0, float x1, float c, float s) {
  auto problem =
      makeProblem(contract, {{"rows", 1}, {"heads", 1}, {"head_dim", 8}, {"rope_dims", 6}}, {});
  const std::string &storage = problem->call.operands.at("input").storage;
  std::byte *input = problem->buffers.at("input").base();
  for (int64_t i = 0; i < 8; ++i)
    reference::writeScalar(storage, input, i, 1);
  for (int64_t i = 0; i < 6; ++i)
    problem->floats("table")[i] = i < 3 ? 1 : 0;
  const bool interleaved = problem->contract["pairing"] == "interleaved";
  const int64_t first = interleaved ? 2 : 1, second = interleaved ? 3 : 4; // pair 1
  reference::writeScalar(storage, input, first, x0);
  reference::writeScalar(storage, input, second, x1);
  problem->floats("table")[1] = c;
  problem->floats("table")[4] = s;
  problem->evaluate();
  const std::vector<float> out = problem->values("out");
  for (int64_t i = 0; i < 8; ++i)
    if (i != first && i != second) {
      EXPECT_EQ(out[i], 1) << contract << ", element " << i;
    }
  return {out[first], out[second]};
}

TEST(F8_Exceptional, ARotationOfNaNInfinityAndSubnormals) {
  for (const std::string &id : Data::get().contractsOf("rope")) {
    const bool isHalf = Data::get().contracts.at(id)["operands"]["out"]["storage"] == "f16";
    const float largest = isHalf ? 65504 : kLargest, least = isHalf ? 0x1p-24f : 0x1p-149f;
    const auto nan = rotated(id, kNaN, 1, 0.8f, 0.6f);
    EXPECT_TRUE(std::isnan(nan.first) && std::isnan(nan.second)) << id;
    EXPECT_EQ(rotated(id, kInfinite, 1, 0.8f, 0.6f), std::pair(kInfinite, kInfinite)) << id;
    EXPECT_EQ(rotated(id, 1, kInfinite, 0.8f, 0.6f), std::pair(-kInfinite, kInfinite)) << id;
    const auto opposed = rotated(id, kInfinite, kInfinite, 0.8f, 0.6f);
    EXPECT_TRUE(std::isnan(opposed.first) && opposed.second == kInfinite) << id;
    const auto zero = rotated(id, kInfinite, 1, 0, 1);
    EXPECT_TRUE(std::isnan(zero.first)) << id << ": inf * 0";
    EXPECT_EQ(rotated(id, largest, largest, 0.8f, 0.6f).second, kInfinite) << id;
    EXPECT_EQ(rotated(id, least, 0, 1, 0), std::pair(least, 0.0f)) << id;
  }
}

TEST(F8_Exceptional, ATableOfAnglesBeyondTheLimitAndOfNaN) {
  for (const std::string &id : Data::get().contractsOf("rope_table")) {
    const auto tableOf = [&](int32_t position, double frequency) {
      auto problem = makeProblem(id, {{"rows", 1}, {"rope_dims", 4}}, {.positions = {position}});
      reference::writeF64(problem->buffers.at("frequencies").base(), 1, frequency); // pair 1's
      problem->evaluate();
      return std::pair(problem->floats("out")[1], problem->floats("out")[3]);
    };
    const auto isNaN = [](std::pair<float, float> both) {
      return std::isnan(both.first) && std::isnan(both.second);
    };
    EXPECT_EQ(tableOf(0, 0.5), std::pair(1.0f, 0.0f)) << id;
    EXPECT_FALSE(isNaN(tableOf(1 << 30, 1))) << id << ": at the limit";
    EXPECT_TRUE(isNaN(tableOf((1 << 30) + 256, 1))) << id << ": beyond it";
    EXPECT_TRUE(isNaN(tableOf(INT32_MAX, 1e300))) << id;
    EXPECT_TRUE(isNaN(tableOf(1, std::numeric_limits<double>::quiet_NaN()))) << id;
    EXPECT_TRUE(isNaN(tableOf(1, std::numeric_limits<double>::infinity()))) << id;
    const auto subnormal = tableOf(1, 0x1p-140); // the sine of a small angle is the angle
    EXPECT_EQ(subnormal, std::pair(1.0f, 0x1p-140f)) << id;
  }
}

TEST(F8_Exceptional, FrequenciesOfFactorsThatAreNoNumbers) {
  size_t tested = 0;
  for (const std::string &id : Data::get().contractsOf("rope_frequencies")) {
    auto problem = makeProblem(id, {{"rope_dims", 8}}, {});
    if (!problem->buffers.contains("factors"))
      continue;
    ++tested;
    const std::vector<float> values{kNaN, kInfinite, 0, 1};
    for (int64_t i = 0; i < 4; ++i)
      reference::writeScalar("f32", problem->buffers.at("factors").base(), i, values[i]);
    problem->evaluate();
    const std::byte *out = problem->buffers.at("out").base();
    EXPECT_TRUE(std::isnan(reference::readF64(out, 0))) << id;
    EXPECT_EQ(reference::readF64(out, 1), 0) << id;
    EXPECT_TRUE(std::isinf(reference::readF64(out, 2))) << id;
    EXPECT_TRUE(std::isfinite(reference::readF64(out, 3))) << id;
  }
  EXPECT_GT(tested, 0u);
}

TEST(F8_Exceptional, ALogProbabilityOfNaNInfinityAndOverflow) {
  for (const std::string &id : Data::get().contractsOf("log_probability")) {
    const bool isHalf = Data::get().contracts.at(id)["operands"]["logits"]["storage"] == "f16";
    const float large = isHalf ? 65504 : kLargest;
    const auto of = [&](std::vector<float> logits) { // of token 0
      auto problem =
          makeProblem(id, {{"rows", 1}, {"vocabulary", static_cast<int64_t>(logits.size())}}, {});
      for (size_t i = 0; i < logits.size(); ++i)
        reference::writeScalar(problem->call.operands.at("logits").storage,
                               problem->buffers.at("logits").base(), static_cast<int64_t>(i),
                               logits[i]);
      problem->call.rows.token = {0};
      problem->evaluate();
      return problem->floats("out")[0];
    };
    EXPECT_TRUE(std::isnan(of({1, kNaN}))) << id;
    EXPECT_TRUE(std::isnan(of({kNaN, 1}))) << id;
    EXPECT_TRUE(std::isnan(of({kInfinite, 1}))) << id << ": inf - inf";
    EXPECT_TRUE(std::isnan(of({-kInfinite, -kInfinite}))) << id << ": no largest one";
    EXPECT_EQ(of({1, -kInfinite}), 0) << id << ": what is impossible counts nothing";
    EXPECT_EQ(of({-kInfinite, 1}), -kInfinite) << id;
    EXPECT_EQ(of({-large, large}), isHalf ? -131008 : -kInfinite) << id;
    EXPECT_EQ(of({5}), 0) << id;
  }
}

// The last row is copied with all that it holds.
TEST(F8_Exceptional, ARowIsSelectedWithItsNaNAndZeros) {
  for (const std::string &id : Data::get().contractsOf("select_rows")) {
    auto problem = makeProblem(id, {{"rows", 1}, {"n", 4}}, {});
    const std::string &storage = problem->call.operands.at("input").storage;
    const int64_t first = 4 * problem->call.rows.outputRow[0];
    const std::vector<float> values{kNaN, -kInfinite, -0.0f,
                                    storage == "f16" ? 0x1p-24f : 0x1p-149f};
    for (int64_t i = 0; i < 4; ++i)
      reference::writeScalar(storage, problem->buffers.at("input").base(), first + i, values[i]);
    problem->evaluate();
    for (int64_t i = 0; i < 4; ++i)
      EXPECT_TRUE(sameFloat(problem->values("out")[i], values[i])) << id << ", " << i;
  }
}

/// The codes and the scale of one block that holds `values` and zeros.
struct Codes {
  std::vector<int> codes;
  int zero = 0; ///< of an element that is zero
  float scale = 0;
};
Codes codesOf(const std::string &id, const std::vector<float> &values) {
  const nlohmann::json &contract = Data::get().contracts.at(id);
  const int64_t block = contract["block"];
  auto problem = makeProblem(id, {{"rows", 1}, {"k", 2 * block}}, {});
  for (int64_t i = 0; i < 2 * block; ++i)
    problem->floats("input")[i] = i < static_cast<int64_t>(values.size()) ? values[i]
                                  : i < block                             ? 0.0f
                                                                          : 1.0f;
  problem->evaluate();
  reference::ActivationRow row(problem->call.operands.at("out").storage,
                               problem->buffers.at("out").base(), 2 * block);
  EXPECT_TRUE(std::isfinite(row.scale(1)) && std::abs(row.code(block)) == 127)
      << id << ": the block beside it is as ever";
  Codes found;
  for (size_t i = 0; i < values.size(); ++i)
    found.codes.push_back(row.code(static_cast<int64_t>(i)));
  found.zero = row.code(block - 1);
  found.scale = row.scale(0);
  return found;
}

TEST(F8_Exceptional, CodesOfABlockThatIsNotFiniteAreZero) {
  for (const std::string &id : Data::get().contractsOf("quantize_activation"))
    for (const float value : {kNaN, kInfinite, -kInfinite}) {
      const Codes found = codesOf(id, {1, value, 3});
      EXPECT_EQ(found.codes, std::vector<int>({0, 0, 0})) << id;
      EXPECT_EQ(found.zero, 0) << id;
      EXPECT_TRUE(std::isnan(found.scale)) << id;
    }
}

// Of q8_0 and q8_1 the scale is a binary16: too large a block has an infinite one, and its codes
// all the same.
TEST(F8_Exceptional, AScaleThatOverflowsItsStorage) {
  for (const std::string codes : {"q8_0", "q8_1"}) {
    const std::string id = "quantize_activation_" + codes + "_ggml_v0";
    const Codes found = codesOf(id, {127 * 65520.0f, -127 * 65520.0f / 127});
    EXPECT_EQ(found.scale, kInfinite) << id;
    EXPECT_EQ(found.codes, std::vector<int>({127, -1})) << id;
    const Codes below = codesOf(id, {127 * 65519.0f});
    EXPECT_EQ(below.scale, 65504) << id;
  }
  EXPECT_EQ(codesOf("quantize_activation_q8_k_ggml_v0", {kLargest, -kLargest}).codes,
            std::vector<int>({-127, 127}));
}

// The inverse of a subnormal scale overflows: what is multiplied by it has no integer.
TEST(F8_Exceptional, AnInverseThatOverflows) {
  for (const std::string codes : {"q8_0", "q8_1"}) {
    const Codes found =
        codesOf("quantize_activation_" + codes + "_ggml_v0", {0x1p-130f, -0x1p-130f});
    EXPECT_EQ(found.codes, std::vector<int>({-128, -128})) << codes;
    EXPECT_EQ(found.zero, -128) << codes << ": 0 * inf is no number either";
    EXPECT_EQ(found.scale, 0) << codes;
  }
  EXPECT_EQ(codesOf("quantize_activation_q8_k_ggml_v0", {0x1p-130f, -0x1p-130f}).codes,
            std::vector<int>({0, 0}));
  for (const std::string block : {"32", "256"}) { // dropped below 2^-120, so that none overflows
    const std::string id = "quantize_activation_i8_b" + block + "_v0";
    EXPECT_EQ(codesOf(id, {0x1p-121f}).codes, std::vector<int>({0})) << id;
    EXPECT_EQ(codesOf(id, {0x1p-120f}).codes, std::vector<int>({127})) << id;
  }
}

// Values of every storage that keys and values may have: an infinite value or block.
TEST(F8_Exceptional, AnInfiniteValueIsInItsColumnsAlone) {
  for (const std::string &id : Data::get().contractsOf("attention")) {
    const auto outWith = [&](float value) {
      auto problem = makeProblem(id, {{"rows", 1}, {"heads", 2}, {"kv_heads", 1}, {"head_dim", 64}},
                                 {.positions = {3}});
      const std::string &storage = problem->kv.storage;
      std::byte *v = problem->kv.sequences[0].v.data() + 2 * reference::rowBytes(storage, 64);
      if (storage == "q8_0") { // the scale of key 2's first block, and codes that are not 0
        std::fill_n(v + 2, 32, std::byte{1});
        reference::writeScalar("f16", v, 0, value);
      } else {
        reference::writeScalar(storage, v, 5, value);
      }
      problem->evaluate();
      const std::vector<float> out = problem->values("out");
      for (int64_t i = 0; i < 128; ++i) {
        const bool isIn = storage == "q8_0" ? i % 64 < 32 : i % 64 == 5;
        EXPECT_EQ(!std::isfinite(out[i]), isIn) << id << ", element " << i;
      }
      return out[5];
    };
    EXPECT_EQ(outWith(kInfinite), kInfinite) << id;
    EXPECT_EQ(outWith(-kInfinite), -kInfinite) << id;
    EXPECT_TRUE(std::isnan(outWith(kNaN))) << id;
  }
}

} // namespace
} // namespace writ::test
