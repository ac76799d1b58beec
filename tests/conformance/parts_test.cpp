//===- parts_test.cpp - keys of a query divided among threads -------------===//
//
// Where a provider's map has a `merge`, the KV view may ask it to work on parts of a query's keys
// apart: so decode runs at depth. Whoever computes them, in how many parts and over how many
// threads, the result is the contract's. A case for each body, its merge and number of threads:
// evidence of a provider with a merge rests on them.
//
//===----------------------------------------------------------------------===//
#include "pool/thread_pool.h"
#include "tests/conformance/Evaluated.h"
#include "tests/conformance/KernelCall.h"
#include "tests/conformance/ThreadedEntries.h"
#include "writ/kernel_table.h"

#include <gtest/gtest.h>
#include <iostream>
#include <set>

namespace writ::test {
namespace {

constexpr int64_t kRoom = 1 << 20, kTooLittle = 64;

struct Division {
  int threads;
  int64_t parts, room;
};
/// Fewer parts than threads, more than chunks, and no room for any: keys stay together then.
constexpr Division kDivisions[] = {
    {1, 2, kRoom}, {1, 3, kRoom},  {2, 2, kRoom},      {2, 3, kRoom}, {2, 40, kRoom},
    {3, 2, kRoom}, {3, 16, kRoom}, {3, 5, kTooLittle}, {7, 7, kRoom}, {7, 17, kRoom}};
constexpr int kThreads[] = {1, 2, 3, 7};

struct Case {
  std::string provider, isa;
  int threads;
};
void PrintTo(const Case &c, std::ostream *out) {
  *out << c.provider << " " << c.isa << " with " << c.threads << " threads";
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const auto &[id, map] : Data::get().kernelMaps)
    if (map["threading"].contains("merge"))
      for (const std::string isa : map["isa"])
        for (const int threads : kThreads)
          if (isBuilt(isaOf(isa)))
            list.push_back({id, isa, threads});
  return list;
}

/// The last position of each row, of three sequences: chunk edges from both sides, and rows whose
/// numbers of chunks differ.
const std::vector<std::vector<int32_t>> kPositions = {{0},
                                                      {254},
                                                      {255},
                                                      {256},
                                                      {510},
                                                      {511},
                                                      {512},
                                                      {1500},
                                                      {4095},
                                                      {700, 0, 256},
                                                      {255, 256, 511, 900}};

Shape shapeOf(const std::vector<int32_t> &positions, int64_t headDim) {
  return {{{"rows", static_cast<int64_t>(positions.size())},
           {"heads", 6},
           {"kv_heads", 2},
           {"head_dim", headDim}},
          positions};
}

/// What one case was compared over.
struct Compared {
  int64_t elements = 0;
  std::set<std::string> shapes, fills, parts;
};

std::string joined(const std::set<std::string> &names) {
  std::string all;
  for (const std::string &name : names)
    all += (all.empty() ? "" : ",") + name;
  return all;
}

class C8_DividedEqualsReference : public testing::TestWithParam<Case> {
protected:
  /// Plain values, and those of another kind in turn.
  void compare(const std::string &contract, const std::vector<int32_t> &positions, size_t turn) {
    const Case &c = GetParam();
    const nlohmann::json &map = Data::get().kernelMaps.at(c.provider);
    const ThreadedEntry entry = findThreadedEntry(map["functions"]["threaded"]);
    ASSERT_NE(entry, nullptr);
    static Evaluated evaluated; // for all numbers of threads and instruction sets of a provider
    const Shape shape = shapeOf(positions, 32);
    writ_pool pool(c.threads, c.threads);
    writ_step step{};
    step.isa = isaOf(c.isa);
    step.pool = &pool;
    for (const Fill fill : {Fill::plain, kFills[turn % std::size(kFills)]}) {
      const uint64_t seed = seedOf(contract, shape, fill);
      Problem &problem =
          evaluated.get(c.provider, contract, shape,
                        {.fill = fill, .seed = seed, .positions = shape.positions, .window = 300});
      KernelCall call(problem, map, seed);
      for (const auto &[threads, parts, room] : kDivisions) {
        if (threads != c.threads)
          continue;
        call.poison();
        call.divide(parts, room);
        entry(&step, 0, call.arguments());
        ASSERT_EQ(call.difference(), "")
            << contract << " " << nameOf(shape) << ", values " << nameOf(fill) << ", " << parts
            << " parts over " << threads << " threads, room for " << room;
        compared.elements += call.elements();
        compared.parts.insert(std::to_string(parts));
      }
      compared.fills.insert(nameOf(fill));
    }
    compared.shapes.insert(nameOf(shape));
  }

  Compared compared;
};

TEST_P(C8_DividedEqualsReference, BitForBit) {
  const Case &c = GetParam();
  if (!machineHas(isaOf(c.isa))) {
    std::cout << "this machine has no " << c.isa << ": body not run\n";
    GTEST_SKIP();
  }
  for (const std::string contract : Data::get().kernelMaps.at(c.provider)["contracts"])
    for (size_t i = 0; i < kPositions.size(); ++i)
      ASSERT_NO_FATAL_FAILURE(compare(contract, kPositions[i], i));
  EXPECT_GT(compared.elements, 0);
  EXPECT_EQ(compared.fills.size(), std::size(kFills)) << "a kind of values was not among them";
  RecordProperty("elements", std::to_string(compared.elements));
  RecordProperty("fills", joined(compared.fills));
  RecordProperty("parts", joined(compared.parts));
  RecordProperty("shapes", joined(compared.shapes));
}

std::string caseName(const testing::TestParamInfo<Case> &info) {
  return info.param.provider + "_" + info.param.isa + "_threads" +
         std::to_string(info.param.threads);
}

INSTANTIATE_TEST_SUITE_P(, C8_DividedEqualsReference, testing::ValuesIn(cases()), caseName);

/// Runs the parts of a query of 600 keys as the entry would, with other merges.
std::string withMerges(const writ_body *merges) {
  const std::string id = cases().front().provider;
  const nlohmann::json &map = Data::get().kernelMaps.at(id);
  const std::string contract = map["contracts"][0];
  auto problem =
      makeProblem(contract, shapeOf({599}, 32).dimensions, {.positions = {599}, .window = 300});
  problem->evaluate();
  KernelCall call(*problem, map, 1);
  call.poison();
  call.divide(2, kRoom);
  writ_step step{};
  writ_pool pool(2, 2);
  step.pool = &pool;
  writ_launch_merged(&step, 0, writ_find_provider(id.c_str()), call.arguments(), call.units(), 1, 2,
                     merges, call.units());
  return call.difference();
}

// Negative control: the comparison sees a merge that did nothing.
TEST(C8_DividedComparisonSees, AMergeThatDidNotRun) {
  const writ_body nothing[WRIT_ISA_COUNT] = {[](const void *, int64_t, int64_t) {}};
  EXPECT_NE(withMerges(nothing), "");
}

} // namespace
} // namespace writ::test
