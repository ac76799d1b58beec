//===- reference_test.cpp - the reference obeys every field ---------------===//
#include "ir/Reference/Scalar.h"
#include "ir/Reference/Storage.h"
#include "tests/conformance/PlainAttention.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>

namespace writ::test {
namespace {

using reference::ReferenceError;

/// The smallest problem of a contract.
std::unique_ptr<Problem> smallProblem(const std::string &contract) {
  return makeProblem(contract,
                     {{"rows", 2},
                      {"k", 256},
                      {"n", 256},
                      {"vectors", 2},
                      {"vocabulary", 50},
                      {"heads", 2},
                      {"kv_heads", 1},
                      {"head_dim", 32},
                      {"rope_dims", 8}},
                     {Fill::plain, 1, true, {3, 5}});
}

std::string errorOf(Problem &problem) {
  try {
    problem.evaluate();
  } catch (const ReferenceError &error) {
    return error.what();
  }
  return "";
}

/// The field that a contract cannot be evaluated by; "" where it can.
std::string faultyField(Problem &problem) {
  try {
    problem.evaluate();
  } catch (const reference::ContractError &error) {
    return error.field();
  }
  return "";
}

/// Every field of a contract, as pointers into its JSON, that says something about the arithmetic.
void forEachField(nlohmann::json &contract,
                  const std::function<void(const std::string &, nlohmann::json &)> &visit) {
  for (auto &[key, value] : contract.items()) {
    if (key == "schema" || key == "id" || key == "family" || key == "operands" || key == "bound")
      continue;
    if (!value.is_object())
      visit(key, value);
    else
      for (auto &[inner, word] : value.items())
        visit(key + "." + inner, word);
  }
}

TEST(C8_Reference, EveryContractIsEvaluated) {
  ASSERT_FALSE(Data::get().contracts.empty());
  for (const auto &[id, contract] : Data::get().contracts) {
    auto problem = smallProblem(id);
    EXPECT_EQ(errorOf(*problem), "") << id;
  }
}

/// Evaluates each contract with one field after the other changed.
void forEachChange(
    const std::function<void(nlohmann::json &contract, const std::string &field)> &change,
    const std::function<void(Problem &problem, const std::string &field)> &look) {
  for (const auto &[id, contract] : Data::get().contracts) {
    auto problem = smallProblem(id);
    nlohmann::json fields = contract;
    forEachField(fields, [&, &registered = contract](const std::string &field, nlohmann::json &) {
      problem->contract = registered;
      change(problem->contract, field);
      look(*problem, field);
    });
  }
}

void putUnknownWord(nlohmann::json &contract, const std::string &field) {
  forEachField(contract, [&](const std::string &other, nlohmann::json &value) {
    if (other == field)
      value = "no_such_word";
  });
}

// Each field is read: another word in it is an error that names the field.
TEST(C8_Reference, AnUnknownWordIsAnErrorThatNamesTheField) {
  forEachChange(putUnknownWord, [](Problem &problem, const std::string &field) {
    EXPECT_EQ(faultyField(problem), field) << problem.contract["id"] << ": " << errorOf(problem);
    EXPECT_NE(errorOf(problem).find("'" + field + "'"), std::string::npos)
        << problem.contract["id"] << ", " << field << ": " << errorOf(problem);
  });
}

TEST(C8_Reference, AFieldWithoutEffectIsAnError) {
  for (const auto &[id, contract] : Data::get().contracts) {
    auto problem = smallProblem(id);
    problem->contract["surplus"] = "fma";
    EXPECT_NE(errorOf(*problem).find("'surplus'"), std::string::npos) << id;
  }
}

TEST(C8_Reference, AMissingFieldIsAnError) {
  const auto erase = [](nlohmann::json &contract, const std::string &field) {
    if (const size_t dot = field.find('.'); dot != std::string::npos)
      contract[field.substr(0, dot)].erase(field.substr(dot + 1));
    else
      contract.erase(field);
  };
  forEachChange(erase, [](Problem &problem, const std::string &field) {
    EXPECT_NE(errorOf(problem).find("field '" + field + "' is missing"), std::string::npos)
        << problem.contract["id"] << ", " << field << ": " << errorOf(problem);
  });
}

// Reading alone says what evaluating says, and needs no operand.
TEST(C8_Reference, AContractIsReadAsItIsEvaluated) {
  const Data &data = Data::get();
  const auto faultOf = [&](const nlohmann::json &contract) -> std::string {
    try {
      reference::readContract(contract, data.vocabulary, data.functions);
      return "";
    } catch (const reference::ContractError &error) {
      return error.what();
    }
  };
  for (const auto &[id, contract] : data.contracts)
    EXPECT_EQ(faultOf(contract), "") << id;
  forEachChange(putUnknownWord, [&](Problem &problem, const std::string &field) {
    // Of an attribute the op has its own word: some are compared with that and mean nothing else.
    const auto attributes = problem.call.attributes;
    if (attributes.contains(field)) {
      EXPECT_NE(errorOf(problem), "") << problem.contract["id"] << ", " << field;
      problem.call.attributes[field] = "no_such_word";
    } else {
      EXPECT_NE(faultOf(problem.contract), "") << problem.contract["id"] << ", " << field;
    }
    EXPECT_EQ(faultOf(problem.contract), errorOf(problem)) << field;
    problem.call.attributes = attributes;
  });
}

TEST(C8_Reference, OperandsMustBeTheContracts) {
  auto problem = smallProblem("linear_q4_0_i8_b32_v0");
  problem->call.operands.at("weight").storage = "q4_1";
  EXPECT_NE(errorOf(*problem).find("'weight'"), std::string::npos);
  problem = smallProblem("rope_interleaved_f32_v0");
  problem->call.attributes["pairing"] = "split_half";
  EXPECT_NE(errorOf(*problem).find("'pairing'"), std::string::npos);
}

/// Whether an altered problem gives other bits than the contract.
bool givesOtherBits(const std::string &contract, const Dimensions &dimensions,
                    const std::vector<int32_t> &positions,
                    const std::function<void(Problem &)> &alter) {
  auto right = makeProblem(contract, dimensions, {Fill::plain, 3, true, positions});
  auto altered = makeProblem(contract, dimensions, {Fill::plain, 3, true, positions});
  alter(*altered);
  right->evaluate();
  altered->evaluate();
  bool differs = false;
  std::span<float> a = right->floats("out"), b = altered->floats("out");
  for (size_t i = 0; i < a.size(); ++i)
    differs = differs || !sameFloat(a[i], b[i]);
  return differs;
}

// The order of a reduction is seen in the bits: merge, lanes, segments, multiply-add form.
TEST(C8_ReferenceSeesOrder, OfLinear) {
  const auto reduction = [](const char *key, const nlohmann::json &value) {
    return [=](Problem &p) {
      p.vocabulary["words"]["reduction"]["sum_f32_fma_segments8"][key] = value;
    };
  };
  const Dimensions shape{{"rows", 2}, {"k", 512}, {"n", 40}};
  for (const std::string contract : {"linear_f32_v0", "linear_q4_0_i8_b32_v0"}) {
    EXPECT_TRUE(givesOtherBits(contract, shape, {}, reduction("merge", "tree_halves")));
    EXPECT_TRUE(givesOtherBits(contract, shape, {}, reduction("segments", 4)));
    EXPECT_TRUE(givesOtherBits(contract, shape, {}, reduction("multiply_add", "mul_add")));
    EXPECT_FALSE(givesOtherBits(contract, shape, {}, reduction("meaning", "said otherwise")));
  }
}

TEST(C8_ReferenceSeesOrder, OfNorm) {
  EXPECT_TRUE(givesOtherBits(
      "rms_norm_f32_lanes64_v0", {{"rows", 60}, {"vectors", 1}, {"n", 576}}, {},
      [](Problem &p) { p.contract["sum_of_squares"] = "sum_f32_fma_lanes16_tree"; }));
}

TEST(C8_ReferenceSeesOrder, OfAttention) {
  const std::string contract = "attention_f16_kv_tiles32_chunks256_v0";
  const Dimensions shape{{"rows", 2}, {"heads", 2}, {"kv_heads", 1}, {"head_dim", 32}};
  auto partition = [](const char *key, int64_t value) {
    return [=](Problem &p) { p.contract["partition"][key] = value; };
  };
  EXPECT_TRUE(givesOtherBits(contract, shape, {600, 300}, partition("chunk", 128)));
  EXPECT_TRUE(givesOtherBits(contract, shape, {600, 300}, partition("tile", 16)));
  EXPECT_TRUE(givesOtherBits(contract, shape, {600, 300},
                             [](Problem &p) { p.contract["multiply_add"] = "mul_add"; }));
  // C5: the declared threshold is where the arithmetic changes, and not a position earlier.
  auto unpartitioned = [](Problem &p) {
    p.contract["partition"] = {{"kind", "none"}, {"tile", 32}};
    p.contract.erase("partial_storage");
    p.contract.erase("partial_merge");
  };
  EXPECT_FALSE(givesOtherBits(contract, shape, {254, 255}, unpartitioned));
  EXPECT_TRUE(givesOtherBits(contract, shape, {256, 257}, unpartitioned));
}

TEST(F8_Linear, AnEmptySumIsPlusZeroThenTheBias) {
  for (const bool bias : {false, true}) {
    auto problem =
        makeProblem("linear_f32_v0", {{"rows", 1}, {"k", 0}, {"n", 3}}, {Fill::plain, 1, bias, {}});
    problem->evaluate();
    for (int64_t i = 0; i < 3; ++i)
      EXPECT_TRUE(
          sameFloat(problem->floats("out")[i], bias ? 0.0f + problem->floats("bias")[i] : 0.0f));
  }
}

/// The largest distance of the op's result from that of the window's mask, `shift` keys off.
double distanceFromMask(int64_t window, int64_t shift) {
  const std::vector<int32_t> positions{int32_t(window) - 2, int32_t(window) - 1, int32_t(window),
                                       700};
  const Dimensions shape{{"rows", 4}, {"heads", 2}, {"kv_heads", 1}, {"head_dim", 16}};
  auto problem = makeProblem("attention_f16_kv_window_tiles32_chunks256_v0", shape,
                             {Fill::plain, uint64_t(window), true, positions, window});
  problem->evaluate();
  double worst = 0;
  for (int64_t row = 0; row < 4; ++row)
    for (int64_t head = 0; head < 2; ++head) {
      const std::vector<double> expected = plainAttention(*problem, row, head, window + shift);
      for (int64_t i = 0; i < 16; ++i)
        worst = std::max(
            worst, std::fabs(expected[i] - problem->floats("out")[(row * 2 + head) * 16 + i]));
    }
  return worst;
}

// Histories of window - 1, window and window + 1 keys, and a long one, against a mask that says for
// each key whether it is seen: windows at and beside the edges of tiles, chunks and pages.
TEST(F8_WindowAttention, EqualsTheMaskAtWindowMinusOneWindowAndWindowPlusOne) {
  for (const int64_t window : {2, 15, 16, 17, 31, 32, 33, 255, 256, 257, 512}) {
    EXPECT_LT(distanceFromMask(window, 0), 1e-5) << window;
    // Negative controls: one key more or less is seen.
    EXPECT_GT(distanceFromMask(window, 1), 1e-4) << window;
    EXPECT_GT(distanceFromMask(window, -1), 1e-4) << window;
  }
}

TEST(F8_WindowAttention, AWideWindowIsNoWindow) {
  const Dimensions shape{{"rows", 3}, {"heads", 2}, {"kv_heads", 1}, {"head_dim", 16}};
  const std::vector<int32_t> positions{5, 255, 700};
  auto causal = makeProblem("attention_f16_kv_tiles32_chunks256_v0", shape,
                            {Fill::plain, 9, true, positions});
  auto wide = makeProblem("attention_f16_kv_window_tiles32_chunks256_v0", shape,
                          {Fill::plain, 9, true, positions, 701});
  causal->evaluate();
  wide->evaluate();
  for (size_t i = 0; i < causal->floats("out").size(); ++i)
    EXPECT_TRUE(sameFloat(causal->floats("out")[i], wide->floats("out")[i])) << i;
}

TEST(F8_WindowAttention, TheMaskNeedsAWindowAndAWindowTheMask) {
  auto problem = smallProblem("attention_f16_kv_window_tiles32_chunks256_v0");
  problem->kv.window = 0;
  EXPECT_NE(errorOf(*problem).find("contradict"), std::string::npos);
  problem = smallProblem("attention_f16_kv_tiles32_chunks256_v0");
  problem->kv.window = 8;
  EXPECT_NE(errorOf(*problem).find("contradict"), std::string::npos);
}

TEST(F8_QuantizeActivation, ExceptionalBlocks) {
  auto problem = makeProblem("quantize_activation_i8_b32_v0", {{"rows", 1}, {"k", 160}}, {});
  std::span<float> x = problem->floats("input");
  x[3] = std::nanf("");
  x[40] = -std::numeric_limits<float>::infinity();
  for (int64_t i = 64; i < 96; ++i)
    x[i] = i == 70 ? std::nextafter(0x1p-120f, 0.0f) : 0;
  for (int64_t i = 96; i < 128; ++i)
    x[i] = i == 100 ? -0x1p-120f : 0;
  problem->evaluate();
  const reference::ActivationRow row("i8_b32_sf32", problem->buffers.at("out").base(), 160);
  for (int64_t block : {0, 1})
    EXPECT_TRUE(std::isnan(row.scale(block)) && row.sum(block) == 0);
  EXPECT_TRUE(sameFloat(row.scale(2), 0.0f));
  EXPECT_EQ(row.code(100), -127);
  EXPECT_EQ(row.sum(3), -127);
  for (int64_t i = 0; i < 96; ++i)
    EXPECT_EQ(row.code(i), 0);
}

// One exceptional element is an exceptional block of 256; its neighbour has codes, and a sum for
// each 16 of them.
TEST(F8_QuantizeActivation, ExceptionalBlocksOf256) {
  auto problem = makeProblem("quantize_activation_i8_b256_v0", {{"rows", 1}, {"k", 1024}}, {});
  std::span<float> x = problem->floats("input");
  x[255] = std::nanf("");
  for (int64_t i = 256; i < 512; ++i)
    x[i] = i == 300 ? std::nextafter(0x1p-120f, 0.0f) : 0;
  for (int64_t i = 512; i < 768; ++i)
    x[i] = i < 528 ? 2.0f : -1.0f; // 127 and rint(-63.5), which is -64
  x[1023] = std::numeric_limits<float>::infinity();
  problem->evaluate();
  const reference::ActivationRow row("i8_b256_sf32", problem->buffers.at("out").base(), 1024);
  for (const int64_t block : {0, 3})
    EXPECT_TRUE(std::isnan(row.scale(block)));
  EXPECT_TRUE(sameFloat(row.scale(1), 0.0f));
  EXPECT_TRUE(sameFloat(row.scale(2), 2.0f / 127.0f));
  for (int64_t i = 0; i < 1024; ++i)
    EXPECT_EQ(row.code(i), i < 512 || i >= 768 ? 0 : i < 528 ? 127 : -64) << i;
  for (int64_t run = 0; run < 64; ++run)
    EXPECT_EQ(row.sum(run), run < 32 || run >= 48 ? 0 : run == 32 ? 16 * 127 : -16 * 64) << run;
}

// The order of the blocks is that of the contract: a K-quant's units are blocks of 256.
TEST(C8_ReferenceSeesOrder, OfBlocksOf256) {
  const Dimensions shape{{"rows", 2}, {"k", 4096}, {"n", 40}};
  for (const std::string contract : {"linear_q4_k_i8_b256_v0", "linear_q6_k_f32_v0"})
    EXPECT_TRUE(givesOtherBits(contract, shape, {}, [](Problem &p) {
      p.vocabulary["words"]["reduction"]["sum_f32_fma_segments8_units256"]["segments"] = 4;
    })) << contract;
  EXPECT_TRUE(givesOtherBits("linear_q6_k_f32_v0", shape, {}, [](Problem &p) {
    p.vocabulary["words"]["reduction"]["sum_f32_fma_segments8_units256"]["unit"] = 32;
    p.vocabulary["words"]["reduction"]["sum_f32_fma_segments8_units256"]["segments"] = 16;
  }));
  auto wrong = makeProblem("linear_q4_k_i8_b256_v0", shape, {});
  wrong->contract["reduction"] = "sum_f32_fma_segments8";
  EXPECT_NE(errorOf(*wrong).find("blocks of 'q4_k' have 256"), std::string::npos)
      << errorOf(*wrong);
}

// F13 for binary16: every code point there and back; rounding at and beside every midpoint.
TEST(F13_Binary16, EveryCodePoint) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = reference::floatOfBinary16(static_cast<uint16_t>(bits));
    const int exponent = bits >> 10 & 31;
    const double expected =
        std::ldexp(exponent ? 1024 + (bits & 1023) : bits & 1023, (exponent ? exponent : 1) - 25);
    if (exponent == 31) {
      EXPECT_TRUE(bits & 1023 ? std::isnan(value) : std::isinf(value));
      continue;
    }
    EXPECT_EQ(std::fabs(value), expected) << bits;
    EXPECT_EQ(std::signbit(value), bits >> 15 != 0) << bits;
    EXPECT_EQ(reference::binary16OfFloat(value), bits);
    // The midpoint to the next value goes to the even one, its neighbours to the nearer.
    const float next = reference::floatOfBinary16(static_cast<uint16_t>(bits + 1));
    const float midpoint =
        (bits & 0x7fff) == 0x7bff ? std::copysign(65520.0f, value) : (value + next) / 2;
    EXPECT_EQ(reference::binary16OfFloat(midpoint), bits + (bits & 1)) << bits;
    EXPECT_EQ(reference::binary16OfFloat(std::nextafter(midpoint, 0.0f)), bits) << bits;
    EXPECT_EQ(reference::binary16OfFloat(std::nextafter(midpoint, std::copysign(1e9f, value))),
              bits + 1)
        << bits;
  }
  EXPECT_EQ(reference::binary16OfFloat(1e30f), 0x7c00);
  EXPECT_EQ(reference::binary16OfFloat(-1e30f), 0xfc00);
  EXPECT_EQ(reference::binary16OfFloat(0x1p-26f), 0);
}

} // namespace
} // namespace writ::test
