//===- attention_test.cpp - every contract of attention, run --------------===//
//
// What holds of each registered contract of the family, found by its words: masks and windows,
// what a query may not see, exceptional values, thresholds, and what the number of workers changes.
//
//===----------------------------------------------------------------------===//
#include "ir/Reference/Storage.h"
#include "tests/conformance/PlainAttention.h"
#include "tests/conformance/Problem.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>

namespace writ::test {
namespace {

using reference::ReferenceError;

std::vector<std::string> contracts() {
  std::vector<std::string> ids;
  for (const auto &[id, contract] : Data::get().contracts)
    if (contract["family"] == "attention")
      ids.push_back(id);
  return ids;
}

const nlohmann::json &contractOf(const std::string &id) {
  return Data::get().contracts.at(id);
}

bool byWorkers(const nlohmann::json &contract) {
  return contract["partition"]["kind"] == "kv_chunks_by_workers";
}

Dimensions shape(int64_t rows, int64_t heads = 2, int64_t headDim = 32) {
  return {{"rows", rows}, {"heads", heads}, {"kv_heads", 1}, {"head_dim", headDim}};
}

std::vector<float> resultOf(Problem &problem) {
  problem.evaluate();
  std::vector<float> values;
  const auto &dims = problem.call.dimensions;
  const int64_t elements = dims.at("rows") * dims.at("heads") * dims.at("head_dim");
  for (int64_t i = 0; i < elements; ++i)
    values.push_back(problem.element("out", i));
  return values;
}

bool same(const std::vector<float> &a, const std::vector<float> &b) {
  if (a.size() != b.size())
    return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!sameFloat(a[i], b[i]))
      return false;
  return true;
}

std::string errorOf(Problem &problem) {
  try {
    problem.evaluate();
  } catch (const ReferenceError &error) {
    return error.what();
  }
  return "";
}

class F8_AttentionContract : public testing::TestWithParam<std::string> {};

// Shapes of one key and one head up to those above each tile, window and threshold, against the
// formula. The tolerance is that of a plausibility check; the bounds are judged with MPFR.
TEST_P(F8_AttentionContract, IsSoftmaxOverTheKeysThatTheMaskAllows) {
  const nlohmann::json &contract = contractOf(GetParam());
  std::vector<int32_t> positions{0, 1, 31, 32, 33};
  for (const int32_t at : {39, 40, 41}) // the window
    positions.push_back(at);
  const int32_t threshold = contract["partition"].value("threshold", 100);
  for (const int32_t at : {-2, -1, 0})
    positions.push_back(threshold + at);
  const auto rows = static_cast<int64_t>(positions.size());
  const bool coarse =
      contract["operands"]["out"]["storage"] == "bf16" || contract["value_accumulator"] != "fp32";
  for (const auto &[heads, headDim] : {std::pair<int64_t, int64_t>(1, 32), {4, 64}}) {
    auto problem = makeProblem(
        GetParam(), shape(rows, heads, headDim),
        {.fill = Fill::plain, .seed = 3, .positions = positions, .window = 40, .workers = 2});
    const std::vector<float> found = resultOf(*problem);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t head = 0; head < heads; ++head) {
        const std::vector<double> expected =
            plainAttention(*problem, row, head, problem->kv.window);
        for (int64_t i = 0; i < headDim; ++i)
          ASSERT_NEAR(found[static_cast<size_t>((row * heads + head) * headDim + i)],
                      expected[static_cast<size_t>(i)], coarse ? 5e-2 : 3e-3)
              << "position " << positions[static_cast<size_t>(row)] << ", head " << head;
      }
  }
}

// Positions behind the query, and before its window, are never read: they may hold NaN.
TEST_P(F8_AttentionContract, WhatAQueryMayNotSeeHasNoEffect) {
  const ProblemOptions options{
      .fill = Fill::plain, .seed = 5, .positions = {50}, .window = 20, .workers = 3};
  auto problem = makeProblem(GetParam(), shape(1), options);
  const std::vector<float> before = resultOf(*problem);
  auto &sequence = problem->kv.sequences[0];
  const auto bytes = static_cast<size_t>(reference::rowBytes(problem->kv.storage, 32));
  const int64_t first = problem->kv.window ? 51 - problem->kv.window : 0;
  for (auto *plane : {&sequence.k, &sequence.v}) {
    plane->resize(plane->size() + 10 * bytes, std::byte{0xff});
    std::fill_n(plane->begin(), static_cast<size_t>(first) * bytes, std::byte{0xff});
  }
  EXPECT_TRUE(same(before, resultOf(*problem)));
  // Negative control: a NaN that the query does see reaches every element.
  std::fill_n(sequence.k.begin() + static_cast<ptrdiff_t>(size_t(first) * bytes), bytes,
              std::byte{0xff});
  for (const float value : resultOf(*problem))
    EXPECT_TRUE(std::isnan(value));
}

TEST_P(F8_AttentionContract, ExceptionalValues) {
  const auto problemWith = [&](const std::function<void(Problem &)> &alter) {
    auto problem = makeProblem(GetParam(), shape(1), {.seed = 9, .positions = {6}});
    alter(*problem);
    return resultOf(*problem);
  };
  const auto setQuery = [](float value) {
    return [=](Problem &p) {
      const reference::Operand &q = p.call.operands.at("q");
      reference::writeScalar(q.storage, q.bytes.data(), 0, value);
    };
  };
  // A NaN in one head's query is a NaN in all of its result, and in nothing else's.
  const std::vector<float> nan = problemWith(setQuery(std::nanf("")));
  for (size_t i = 0; i < nan.size(); ++i)
    EXPECT_EQ(std::isnan(nan[i]), i < 32) << i;
  if (Data::get().vocabulary["words"]["storage"][contractOf(
          GetParam())["operands"]["kv"]["storage"]]["kind"] != "scalar")
    return;
  // An infinite value is an infinite result of its column; two of different signs are a NaN.
  const float inf = std::numeric_limits<float>::infinity();
  const auto setValue = [&](int64_t key, float value) {
    return [=](Problem &p) {
      reference::writeScalar(p.kv.storage, p.kv.sequences[0].v.data(), key * 32 + 5, value);
    };
  };
  const std::vector<float> infinite = problemWith(setValue(2, inf));
  for (size_t i = 0; i < infinite.size(); ++i)
    EXPECT_EQ(std::isinf(infinite[i]), i % 32 == 5) << i;
  const std::vector<float> both = problemWith([&](Problem &p) {
    setValue(2, inf)(p);
    setValue(3, -inf)(p);
  });
  for (size_t i = 0; i < both.size(); ++i)
    EXPECT_EQ(std::isnan(both[i]), i % 32 == 5) << i;
}

// One key has all the weight: the result is its value, as the accumulator holds it. With a sink, it
// is less.
TEST_P(F8_AttentionContract, OneKeyIsItsValue) {
  auto problem = makeProblem(GetParam(), shape(1, 1), {.seed = 2, .positions = {0}});
  const std::vector<float> found = resultOf(*problem);
  const bool hasSinks = contractOf(GetParam())["sinks"] != "none";
  std::vector<double> expected = plainAttention(*problem, 0, 0, problem->kv.window);
  for (int64_t i = 0; i < 32; ++i) {
    const double v =
        problem->kv.storage == "q8_0"
            ? expected[static_cast<size_t>(i)]
            : reference::readScalar(problem->kv.storage, problem->kv.sequences[0].v.data(), i);
    const double tolerance =
        contractOf(GetParam())["v_compute"] == "fp16_rounded" ? std::fabs(v) * 0x1p-11 : 0;
    if (hasSinks)
      EXPECT_LT(std::fabs(found[static_cast<size_t>(i)]), std::fabs(v)) << i;
    else
      EXPECT_NEAR(found[static_cast<size_t>(i)], v, tolerance) << i;
  }
}

// C5 and C6: what the workers change is what the partition says, from its threshold on.
TEST_P(F8_AttentionContract, WorkersChangeWhatThePartitionSays) {
  const nlohmann::json &contract = contractOf(GetParam());
  const int32_t threshold = contract["partition"].value("threshold", 100);
  const auto with = [&](int32_t kvLength, int64_t workers) {
    auto problem =
        makeProblem(GetParam(), shape(1, 2, 64),
                    {.seed = 4, .positions = {kvLength - 1}, .window = 2000, .workers = workers});
    return resultOf(*problem);
  };
  for (const int32_t length : {threshold - 1, threshold, threshold + 1}) {
    const std::vector<float> alone = with(length, 1);
    for (const int64_t workers : {2, 3, 7})
      EXPECT_EQ(same(alone, with(length, workers)), !(byWorkers(contract) && length >= threshold))
          << "kv_len " << length << ", " << workers << " workers";
  }
}

// The law in running form is the law alone: words that contradict each other are refused.
TEST_P(F8_AttentionContract, WordsThatContradictEachOtherAreRefused) {
  const nlohmann::json &contract = contractOf(GetParam());
  auto problem = makeProblem(GetParam(), shape(1), {.positions = {3}});
  problem->kv.window = problem->kv.window ? 0 : 8;
  EXPECT_NE(errorOf(*problem).find("field 'mask'"), std::string::npos) << errorOf(*problem);
  problem = makeProblem(GetParam(), shape(1), {.positions = {3}});
  problem->contract["partition"]["extent"] = 3;
  EXPECT_NE(errorOf(*problem).find("field 'partition.extent' has no effect"), std::string::npos);
  // What the words take is needed, and without them has no effect.
  for (const char *field : {"tile", "threshold", "chunk"}) {
    problem = makeProblem(GetParam(), shape(1), {.positions = {3}});
    if (!contract["partition"].contains(field)) {
      problem->contract["partition"][field] = 32;
      EXPECT_NE(errorOf(*problem).find("has no effect"), std::string::npos) << field;
      continue;
    }
    problem->contract["partition"].erase(field);
    EXPECT_NE(errorOf(*problem).find(std::string("'partition.") + field + "' is missing"),
              std::string::npos)
        << errorOf(*problem);
  }
  problem = makeProblem(GetParam(), shape(1), {.positions = {3}, .workers = 0});
  EXPECT_NE(errorOf(*problem).find("at least one worker"), std::string::npos);
  problem = makeProblem(GetParam(), shape(1), {.positions = {3}});
  if (contract["soft_cap"] == "none") {
    problem->call.numbers["soft_cap"] = 30;
    EXPECT_NE(errorOf(*problem).find("'soft_cap' is given"), std::string::npos);
  }
  if (contract["sinks"] == "none") {
    problem = makeProblem(GetParam(), shape(1), {.positions = {3}});
    problem->call.operands["sinks"] = problem->call.operands.at("q");
    EXPECT_NE(errorOf(*problem).find("'sinks' is not one of the contract's"), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(, F8_AttentionContract, testing::ValuesIn(contracts()),
                         [](const auto &info) { return info.param; });

// The partition by workers, to the position: the ranges are those that the vocabulary states. One
// range of the reference at a time, put together by hand, is the whole.
TEST(C5_F16SplitKv, RangesAreEqualPartsInTheOrderOfTheKeys) {
  constexpr int32_t length = 520;
  const auto with = [&](const std::function<void(Problem &)> &alter, int64_t workers) {
    auto problem = makeProblem("f16_online_fp32_merge", shape(1, 1, 64),
                               {.seed = 8, .positions = {length - 1}, .workers = workers});
    alter(*problem);
    return resultOf(*problem);
  };
  const auto nothing = [](Problem &) {};
  for (const int64_t workers : {1, 2, 3, 7}) {
    const int64_t part = (length + workers - 1) / workers;
    // Chunks of that many positions, which begin at the same places.
    const auto fixed = [&](Problem &p) {
      p.contract["partition"] = {{"kind", "kv_chunks_fixed"}, {"threshold", 512}, {"chunk", part}};
    };
    EXPECT_TRUE(same(with(nothing, workers), with(fixed, 1))) << workers;
    // Negative control: parts of one position more are others.
    const auto longer = [&](Problem &p) {
      p.contract["partition"] = {
          {"kind", "kv_chunks_fixed"}, {"threshold", 512}, {"chunk", part + 1}};
    };
    EXPECT_EQ(same(with(nothing, workers), with(longer, 1)), workers == 1) << workers;
  }
  // More workers than positions: the ranges that are left over give nothing.
  EXPECT_TRUE(same(with(nothing, length), with(nothing, 2 * length)));
}

TEST(C5_F16SplitKv, OneBelowAtAndOneAboveTheThreshold) {
  const int32_t threshold = contractOf("f16_online_fp32_merge")["partition"]["threshold"];
  EXPECT_EQ(threshold, 512);
  const auto result = [&](const std::string &contract, int32_t length, int64_t workers) {
    auto problem = makeProblem(contract, shape(1, 2, 64),
                               {.seed = 6, .positions = {length - 1}, .workers = workers});
    return resultOf(*problem);
  };
  for (const int64_t workers : {1, 2, 3, 7}) {
    // Below it, and with one worker, the split contract is the one of a single range.
    for (const int32_t length : {threshold - 1, threshold, threshold + 1})
      EXPECT_EQ(same(result("f16_online_fp32_merge", length, workers),
                     result("f16_online_single_range", length, workers)),
                length < threshold || workers == 1)
          << "kv_len " << length << ", " << workers << " workers";
  }
  // At and above it, each number of workers is another result.
  for (const int32_t length : {threshold, threshold + 1}) {
    std::vector<std::vector<float>> seen;
    for (const int64_t workers : {1, 2, 3, 7}) {
      seen.push_back(result("f16_online_fp32_merge", length, workers));
      for (size_t other = 0; other + 1 < seen.size(); ++other)
        EXPECT_FALSE(same(seen[other], seen.back())) << "kv_len " << length << ", " << workers;
    }
  }
}

// The shape that the project's design fixes, key by key.
TEST(C2_F16SplitKv, TheContractHasTheKeysAndValuesThatTheDesignFixes) {
  const nlohmann::json fixed = nlohmann::json::parse(R"({
    "id": "f16_online_fp32_merge", "q_compute": "fp16_rounded", "k_compute": "fp16",
    "score_accumulator": "fp32", "softmax_statistics": "fp32",
    "value_accumulator": "fp16_rounded_each_update", "partial_storage": "fp16",
    "partial_merge": "fp32_chunk_order",
    "partition": { "kind": "kv_chunks_by_workers", "threshold": 512 } })");
  for (const auto &[key, value] : fixed.items())
    EXPECT_EQ(contractOf("f16_online_fp32_merge")[key], value) << key;
}

// Each word of the merge and of the partials is seen in the bits.
TEST(C8_F16SplitKv, EveryWordOfItIsSeenInTheBits) {
  const auto with = [&](const std::function<void(nlohmann::json &)> &alter) {
    auto problem = makeProblem("f16_online_fp32_merge", shape(2, 4, 64),
                               {.seed = 12, .positions = {599, 700}, .workers = 3});
    alter(problem->contract);
    return resultOf(*problem);
  };
  const std::vector<float> right = with([](nlohmann::json &) {});
  EXPECT_TRUE(same(right, with([](nlohmann::json &) {})));
  EXPECT_FALSE(same(right, with([](nlohmann::json &c) { c["q_compute"] = "fp32"; })));
  EXPECT_FALSE(same(right, with([](nlohmann::json &c) { c["value_accumulator"] = "fp32"; })));
  EXPECT_FALSE(same(right, with([](nlohmann::json &c) { c["rescale_multiply_add"] = "fma"; })));
  EXPECT_FALSE(same(
      right, with([](nlohmann::json &c) { c["score_reduction"] = "sum_f32_fma_lanes16_tree"; })));
  EXPECT_FALSE(same(right, with([](nlohmann::json &c) { c["partition"]["threshold"] = 650; })));
  // A value that was rounded after each update is binary16 already; one that was not is rounded
  // when it is stored.
  EXPECT_TRUE(same(right, with([](nlohmann::json &c) { c["partial_storage"] = "fp32"; })));
  EXPECT_FALSE(same(with([](nlohmann::json &c) { c["value_accumulator"] = "fp32"; }),
                    with([](nlohmann::json &c) {
                      c["value_accumulator"] = "fp32";
                      c["partial_storage"] = "fp32";
                    })));
}

} // namespace
} // namespace writ::test
