//===- fused_test.cpp - a fusion is its parts, in order -------------------===//
#include "ir/Reference/Storage.h"
#include "tests/conformance/Problem.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace writ::test {
namespace {

constexpr float kInfinite = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::vector<std::string> fusions() {
  std::vector<std::string> ids;
  for (const auto &[id, contract] : Data::get().composed)
    ids.push_back(id);
  return ids;
}

Dimensions shapeOf(const std::string &contract, int64_t rows, int64_t blocks) {
  return {
      {"rows", rows}, {"vectors", 1}, {"n", blocks * sharedScale(Data::get().contract(contract))}};
}

/// The parts of a contract, each by its own entry on what the one before made. `between` sees the
/// value that no fused op shows.
std::vector<std::byte> apart(Problem &fused, std::vector<float> *between = nullptr) {
  const nlohmann::json &parts = Data::get().vocabulary["families"][fused.family()]["parts"];
  std::map<std::string, std::vector<std::byte>> made;
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto nameOf = [&](const std::string &own) { return parts[i]["as"].value(own, own); };
    Dimensions dimensions;
    for (const std::string own :
         Data::get().vocabulary["families"][parts[i]["family"].get<std::string>()]["dimensions"])
      dimensions[own] = fused.call.dimensions.at(nameOf(own));
    auto part = makeProblemOf(fused.contract["parts"][i], dimensions, {});
    for (const auto &[own, operand] : part->call.operands) {
      const std::string name = nameOf(own);
      if (made.contains(name))
        std::ranges::copy(made.at(name), operand.bytes.begin());
      else if (own != "out")
        std::ranges::copy(fused.call.operands.at(name).bytes, operand.bytes.begin());
    }
    part->evaluate();
    const std::span<const std::byte> out = part->call.operands.at("out").bytes;
    made[nameOf("out")].assign(out.begin(), out.end());
    if (between && i == 0)
      *between = part->values("out");
  }
  return made.at("out");
}

class C8_FusedReference : public testing::TestWithParam<std::string> {};

TEST_P(C8_FusedReference, IsItsPartsInOrder) {
  for (const Fill fill : kFills) {
    auto problem = makeProblem(GetParam(), shapeOf(GetParam(), 3, 5), {.fill = fill});
    const std::vector<std::byte> wanted = apart(*problem);
    problem->evaluate();
    EXPECT_TRUE(std::ranges::equal(problem->buffers.at("out").bytes(), wanted)) << nameOf(fill);
  }
}

// Negative control: what a part states reaches the codes.
TEST_P(C8_FusedReference, SeesTheWordsOfEachPart) {
  const auto shape = shapeOf(GetParam(), 40, 5);
  auto problem = makeProblem(GetParam(), shape, {});
  problem->evaluate();
  const std::span<const std::byte> out = problem->buffers.at("out").bytes();
  const std::vector<std::byte> whole(out.begin(), out.end());
  const auto moves = [&](const char *path, const nlohmann::json &value) {
    auto other = makeProblem(GetParam(), shape, {});
    nlohmann::json &field = other->contract[nlohmann::json::json_pointer(path)];
    EXPECT_FALSE(field.is_null()) << path;
    field = value;
    other->evaluate();
    return !std::ranges::equal(other->buffers.at("out").bytes(), whole);
  };
  EXPECT_TRUE(moves("/parts/1/zero_below", "0x1p+30"));
  const bool isNorm = problem->family() == "rms_norm_quantize";
  EXPECT_TRUE(isNorm ? moves("/parts/0/sum_of_squares", "sum_f32_fma_lanes16_tree")
                     : moves("/parts/0/function", "sigmoid_f32_v0"));
}

/// Blocks of one row whose scale is no number, after `value` was put at the first element of block
/// 2 of one operand.
std::vector<int64_t> numberless(const std::string &contract, const char *operand, float value) {
  auto problem = makeProblem(contract, shapeOf(contract, 1, 5), {});
  const int64_t block = sharedScale(problem->contract);
  problem->floats(operand)[2 * block] = value;
  problem->evaluate();
  const reference::ActivationRow row(problem->call.operands.at("out").storage,
                                     problem->buffers.at("out").base(), 5 * block);
  std::vector<int64_t> found;
  for (int64_t i = 0; i < 5; ++i) {
    if (!std::isnan(row.scale(i)))
      continue;
    found.push_back(i);
    for (int64_t j = i * block; j < (i + 1) * block; ++j)
      EXPECT_EQ(row.code(j), 0) << contract << ", " << operand << " " << value;
  }
  return found;
}

// What no codes can hold is kept to its block by a gate; a norm spreads it from its input, since
// all elements are scaled by one number, and not from its weights.
TEST(F8_Exceptional, CodesOfAFusionAreNoNumberWhereItsFirstPartGivesNone) {
  using Blocks = std::vector<int64_t>;
  for (const std::string &id : fusions())
    for (const float value : {kNaN, kInfinite, -kInfinite}) {
      const std::string what = id + ", " + std::to_string(value);
      if (id.find("rms_norm") != std::string::npos) {
        EXPECT_EQ(numberless(id, "weight", value), Blocks{2}) << what;
        // An infinite sum of squares makes every other element 0, and itself 0 times infinity.
        EXPECT_EQ(numberless(id, "input", value),
                  std::isnan(value) ? (Blocks{0, 1, 2, 3, 4}) : Blocks{2})
            << what;
      } else {
        EXPECT_EQ(numberless(id, "up", value), Blocks{2}) << what;
        EXPECT_EQ(numberless(id, "gate", value), Blocks{2}) << what;
      }
    }
}

// The value between is binary32: one that overflows there has no codes, though a wider one would.
TEST(F8_Exceptional, TheValueBetweenThePartsOfAFusionIsRounded) {
  for (const std::string &id : fusions()) {
    if (id.find("gate") == std::string::npos)
      continue;
    auto problem = makeProblem(id, shapeOf(id, 1, 1), {});
    std::ranges::fill(problem->floats("gate"), 0x1p+100f);
    std::ranges::fill(problem->floats("up"), 0x1p+100f);
    std::vector<float> between;
    apart(*problem, &between);
    EXPECT_EQ(between[0], kInfinite) << id;
    problem->evaluate();
    const reference::ActivationRow row(problem->call.operands.at("out").storage,
                                       problem->buffers.at("out").base(),
                                       sharedScale(problem->contract));
    EXPECT_TRUE(std::isnan(row.scale(0))) << id;
  }
}

std::string testName(const testing::TestParamInfo<std::string> &info) {
  std::string name = info.param;
  std::ranges::replace(name, '+', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(, C8_FusedReference, testing::ValuesIn(fusions()), testName);

} // namespace
} // namespace writ::test
