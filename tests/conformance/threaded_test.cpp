//===- threaded_test.cpp - every threaded entry against the contract ------===//
//
// C8's third comparison: the function that a map names as `threaded` runs over the runtime's pool,
// with several numbers of threads and every instruction set, and must give the reference's bits.
// The entries are inline functions of the generated headers; threaded_entries.cpp, which CMake
// writes from the maps, gives them one type.
//
//===----------------------------------------------------------------------===//
#include "pool/thread_pool.h"
#include "tests/conformance/Evaluated.h"
#include "tests/conformance/KernelCall.h"
#include "tests/conformance/ThreadedEntries.h"

#include <gtest/gtest.h>
#include <iostream>
#include <set>
#include <thread>

namespace writ::test {
namespace {

/// 1, 2, 3, 7, and more than this machine has cores (0 stands for that).
constexpr int kThreads[] = {1, 2, 3, 7, 0};

int32_t threadsOf(int named) {
  return named > 0 ? named : static_cast<int32_t>(2 * std::thread::hardware_concurrency() + 1);
}

/// More units than threads, and fewer; an odd number of each.
std::vector<Shape> shapesOf(const std::string &family) {
  if (family == "linear")
    return {{{{"rows", 5}, {"k", 288}, {"n", 211}}},
            {{{"rows", 1}, {"k", 64}, {"n", 17}}},
            {{{"rows", 5}, {"k", 512}, {"n", 211}}},
            {{{"rows", 1}, {"k", 2304}, {"n", 17}}}};
  if (family == "embedding")
    return {{{{"rows", 17}, {"vocabulary", 37}, {"n", 96}}},
            {{{"rows", 17}, {"vocabulary", 37}, {"n", 512}}}};
  if (family == "quantize_activation")
    return {{{{"rows", 17}, {"k", 160}}}, {{{"rows", 2}, {"k", 64}}}, {{{"rows", 17}, {"k", 512}}}};
  if (family == "rms_norm")
    return {{{{"rows", 5}, {"vectors", 3}, {"n", 65}}}, {{{"rows", 1}, {"vectors", 1}, {"n", 16}}}};
  if (family == "rms_norm_quantize")
    return {{{{"rows", 17}, {"vectors", 1}, {"n", 160}}},
            {{{"rows", 2}, {"vectors", 1}, {"n", 64}}},
            {{{"rows", 17}, {"vectors", 1}, {"n", 512}}}};
  if (family == "gate_quantize")
    return {{{{"rows", 17}, {"n", 160}}}, {{{"rows", 2}, {"n", 64}}}, {{{"rows", 17}, {"n", 512}}}};
  if (family == "rope_table")
    return {{{{"rows", 11}, {"rope_dims", 64}}}};
  if (family == "rope")
    return {{{{"rows", 11}, {"heads", 3}, {"head_dim", 64}, {"rope_dims", 48}}}};
  if (family == "kv_store")
    return {{{{"rows", 9}, {"kv_heads", 3}, {"head_dim", 64}}, {0, 0, 0, 1, 15, 16, 17, 31, 255}}};
  if (family == "attention")
    return {
        {{{"rows", 5}, {"heads", 6}, {"kv_heads", 2}, {"head_dim", 64}}, {0, 33, 255, 256, 300}},
        {{{"rows", 1}, {"heads", 4}, {"kv_heads", 1}, {"head_dim", 16}}, {600}}};
  if (family == "sample" || family == "log_probability")
    return {{{{"rows", 11}, {"vocabulary", 1000}}}, {{{"rows", 2}, {"vocabulary", 65}}}};
  return {{{{"rows", 17}, {"n", 65}}}, {{{"rows", 1}, {"n", 16}}}};
}

/// Whether the reference has to know how many workers there are.
bool dependsOnWorkers(const std::string &contract) {
  const nlohmann::json &json = Data::get().contract(contract);
  return json.contains("partition") && json["partition"]["kind"] == "kv_chunks_by_workers";
}

struct Case {
  std::string provider, isa;
  int threads;
};
void PrintTo(const Case &c, std::ostream *out) {
  *out << c.provider << " " << c.isa << " with "
       << (c.threads > 0 ? std::to_string(c.threads) : "more") << " threads";
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const auto &[id, map] : Data::get().kernelMaps)
    for (const std::string isa : map["isa"])
      for (const int threads : kThreads)
        if (isBuilt(isaOf(isa)))
          list.push_back({id, isa, threads});
  return list;
}

class C8_ThreadedEqualsReference : public testing::TestWithParam<Case> {};

TEST_P(C8_ThreadedEqualsReference, BitForBit) {
  const Case &c = GetParam();
  if (!machineHas(isaOf(c.isa))) {
    std::cout << "this machine has no " << c.isa << ": body not run\n";
    GTEST_SKIP();
  }
  const nlohmann::json &map = Data::get().kernelMaps.at(c.provider);
  const ThreadedEntry entry = findThreadedEntry(map["functions"]["threaded"]);
  ASSERT_NE(entry, nullptr);
  const int32_t threads = threadsOf(c.threads);
  writ_pool pool(threads, threads);
  writ_step step{};
  step.isa = isaOf(c.isa);
  step.pool = &pool;
  int compared = 0;
  static Evaluated evaluated; // for all numbers of threads and instruction sets of a provider
  const auto compare = [&](const std::string &contract, const Shape &shape, Fill fill) {
    const uint64_t seed = seedOf(contract, shape, fill);
    Problem &problem = evaluated.get(c.provider, contract, shape,
                                     {.fill = fill,
                                      .seed = seed,
                                      .bias = seed % 2 == 0,
                                      .positions = shape.positions,
                                      .workers = dependsOnWorkers(contract) ? threads : 1});
    KernelCall call(problem, map, seed);
    call.poison();
    entry(&step, 0, call.arguments());
    ++compared;
    return call.difference();
  };
  for (const std::string contract : map["contracts"]) {
    for (const Shape &shape : shapesOf(map["op"]))
      for (const Fill fill : {Fill::plain, Fill::special})
        if (accepts(map, shape.dimensions)) {
          ASSERT_EQ(compare(contract, shape, fill), "")
              << contract << " " << nameOf(shape) << ", values " << nameOf(fill);
        }
    // All that the data name, of values in turn; and a unit for each thread, one less, one more.
    for (const Shape &edge : edgeShapes(map, contract, threads)) {
      const Fill fill = kFills[seedOf(contract, edge, Fill::plain) % std::size(kFills)];
      ASSERT_EQ(compare(contract, edge, fill), "")
          << contract << " " << nameOf(edge) << ", values " << nameOf(fill);
    }
  }
  EXPECT_GT(compared, 0) << "no shape that the provider takes";
  RecordProperty("provider", c.provider);
  RecordProperty("isa", c.isa);
  RecordProperty("threads", threads);
  RecordProperty("compared", compared);
}

std::string caseName(const testing::TestParamInfo<Case> &info) {
  const int threads = info.param.threads;
  return info.param.provider + "_" + info.param.isa + "_threads" +
         (threads > 0 ? std::to_string(threads) : "MoreThanCores");
}

INSTANTIATE_TEST_SUITE_P(, C8_ThreadedEqualsReference, testing::ValuesIn(cases()), caseName);

// A unit for each worker, one less and one more are among the shapes, where the map takes them.
TEST(C8_ThreadedShapes, HaveUnitsBesideTheNumberOfWorkers) {
  for (const auto &[id, map] : Data::get().kernelMaps)
    for (const int64_t workers : {2, 3, 7}) {
      const std::string contract = map["contracts"][0];
      std::set<int64_t> units;
      for (const Shape &shape : edgeShapes(map, contract, workers)) {
        int64_t extent = 1;
        for (const std::string name : map["threading"]["extent"])
          extent *= shape.dimensions.at(name);
        const int64_t grain = map["threading"]["grain"];
        units.insert((extent + grain - 1) / grain);
      }
      for (const int64_t wanted : {workers - 1, workers, workers + 1})
        EXPECT_TRUE(units.contains(wanted)) << id << ": " << wanted << " units";
    }
}

// Negative control: a pool that forgets a part leaves poison.
TEST(C8_ThreadedComparisonSees, APartThatDidNotRun) {
  auto problem = makeProblem("residual_f32_v0", {{"rows", 9}, {"n", 5}}, {});
  problem->evaluate();
  const nlohmann::json &map = Data::get().kernelMaps.at("residual_f32");
  KernelCall call(*problem, map, 1);
  call.poison();
  writ_provider broken{"broken", "", {}};
  broken.bodies[WRIT_ISA_SCALAR] = [](const void *, int64_t, int64_t) {};
  writ_step step{};
  writ_pool pool(2, 2);
  step.pool = &pool;
  writ_launch(&step, 0, &broken, call.arguments(), call.units(), 1);
  EXPECT_NE(call.difference(), "");
}

} // namespace
} // namespace writ::test
