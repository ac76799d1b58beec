//===- pair_products_test.cpp - vdpbf16ps by known answers ----------------===//
//
// What Intel's manual says the instruction does, at the edges where a multiply-add of another kind
// gives other bits: the order within a pair, operands and results below 2^-126, ties at that edge.
// The reference and every body give the answers.
//
//===----------------------------------------------------------------------===//
#include "tests/conformance/Problem.h"
#include "tests/kernels/instruction_sets.h"
#include "writ/kernels/linear_bf16_vdpbf16ps.h"
#include "writ/packed_layout.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

namespace writ::test {
namespace {

constexpr int64_t kColumns = 16;
constexpr float kLeast = 0x1p-126f;

/// One row of activations and of weights, the same in each column, and their sum.
struct Known {
  const char *what;
  std::vector<float> activation, weight; ///< as many, an even number
  float sum;
};

/// 2^-126 less a part of 2^-150, which is the last place that 24 bits would have below it.
Known below(float part, float sum) {
  return {"a sum just below 2^-126", {0x1p-70f * part, 0x1p-60f}, {-0x1p-80f, 0x1p-66f}, sum};
}

const std::vector<Known> &knownSums() {
  static const std::vector<Known> known{
      {"of a pair the second first", {0x1p-24f, 1.0f}, {1.0f, 1.0f}, 1.0f},
      {"the first alone would be lost", {1.0f, 0x1p-24f, -1.0f, 0}, {1, 1, 1, 0}, 0.0f},
      {"a tie of the activation goes to even", {0x1.01p0f, 0}, {1, 0}, 1.0f},
      {"and upwards where that is even", {0x1.03p0f, 0}, {1, 0}, 0x1.04p0f},
      {"a subnormal activation is zero", {0x1.8p-127f, 0}, {0x1p20f, 0}, 0.0f},
      {"also one that rounds to a normal number", {0x1.fffffcp-127f, 0}, {0x1p20f, 0}, 0.0f},
      {"a subnormal weight is zero", {0x1p20f, 0}, {0x1p-127f, 0}, 0.0f},
      {"a subnormal sum is zero", {0x1p-70f, 0}, {0x1p-57f, 0}, 0.0f},
      {"and does not come back", {0x1p-70f, 0x1p-70f}, {0x1p-57f, 0x1p-57f}, 0.0f},
      {"the least normal sum is kept", {0x1p-70f, 0}, {0x1p-56f, 0}, kLeast},
      below(0.25f, kLeast),
      below(0.5f, kLeast), // a tie, to even
      below(0.75f, 0.0f),
      below(1.0f, 0.0f),
      {"an infinity", {INFINITY, 1}, {1, 1}, INFINITY},
      {"an overflow", {0x1.fep127f, 0}, {2, 0}, INFINITY},
      {"a rounding to infinity", {0x1.fffffep127f, 0}, {1, 0}, INFINITY},
      {"a NaN", {NAN, 1}, {1, 1}, NAN},
      {"infinity times zero", {INFINITY, 1}, {0, 1}, NAN},
      {"infinity times a subnormal", {INFINITY, 1}, {0x1p-127f, 1}, NAN},
  };
  return known;
}

uint16_t bfloatOf(float exact) {
  uint32_t bits;
  std::memcpy(&bits, &exact, 4);
  EXPECT_EQ(bits & 0xffff, 0u) << exact << " is no bfloat16";
  return static_cast<uint16_t>(bits >> 16);
}

void expectSum(float sum, const Known &known, const char *where) {
  if (std::isnan(known.sum))
    EXPECT_TRUE(std::isnan(sum)) << known.what << ", " << where << ": " << sum;
  else
    EXPECT_EQ(sum, known.sum) << known.what << ", " << where;
}

TEST(F8_PairProducts, EveryBodyGivesTheKnownSums) {
  for (const Known &known : knownSums()) {
    const auto k = static_cast<int64_t>(known.activation.size());
    ASSERT_EQ(known.weight.size(), known.activation.size());
    std::vector<uint16_t> panel(writ::panelStride(2, k) / 2);
    for (int64_t i = 0; i < k; ++i)
      for (int64_t column = 0; column < kColumns; ++column)
        panel[i * kColumns + column] = bfloatOf(known.weight[i]);
    for (const int64_t rows : {1, 2, 25}) {
      std::vector<float> activation, out(rows * kColumns, -77.0f);
      for (int64_t row = 0; row < rows; ++row)
        activation.insert(activation.end(), known.activation.begin(), known.activation.end());
      linear_bf16_vdpbf16ps_args args{};
      args.activation = activation.data();
      args.weight = panel.data();
      args.out = out.data();
      args.rows = rows, args.k = k, args.n = kColumns;
      for (int isa = 0; isa < WRIT_ISA_COUNT; ++isa) {
        const writ_body body = linear_bf16_vdpbf16ps_provider.bodies[isa];
        if (!body || !machineHas(static_cast<writ_isa>(isa)))
          continue;
        body(&args, 0, 1);
        for (const float sum : out)
          expectSum(sum, known, isaName(isa));
      }
    }
  }
}

TEST(F8_PairProducts, TheReferenceGivesTheKnownSums) {
  for (const Known &known : knownSums()) {
    const auto k = static_cast<int64_t>(known.weight.size());
    const auto problem =
        makeProblem("linear_bf16_vdpbf16ps_v0", {{"rows", 1}, {"k", k}, {"n", 1}}, {.bias = false});
    std::copy(known.activation.begin(), known.activation.end(),
              problem->floats("activation").begin());
    for (size_t i = 0; i < known.weight.size(); ++i) {
      const uint16_t bits = bfloatOf(known.weight[i]);
      std::memcpy(problem->buffers.at("weight").base() + 2 * i, &bits, 2);
    }
    problem->evaluate();
    expectSum(problem->floats("out")[0], known, "the reference");
  }
}

} // namespace
} // namespace writ::test
