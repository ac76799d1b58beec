//===- open_orders_test.cpp - each negative control as kernels that run ----===//
//
// Kernels of contracts that leave something open (open/doubles.h), over the runtime's pool, its
// paged KV, every instruction set and compiler: each gives other bits exactly where its dimension
// changes, and each of its results is the reference's for the order that it took there. Beside
// each, a provider of the portable class in the same ways, whose bits stay.
//
//===----------------------------------------------------------------------===//
#include "pool/thread_pool.h"
#include "tests/conformance/KernelCall.h"
#include "tests/invariance/RandomContract.h"
#include "tests/invariance/open/doubles.h"
#include "writ/kernel_table.h"
#include "writ/kernels/attention_f16_tiles32_chunks256.h"
#include "writ/kernels/rms_norm_f32.h"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>

namespace writ::test {
namespace {

using nlohmann::json;
using Bits = size_t; ///< a hash of them

/// The negative control of a dimension: a registered contract, and the word that opens a field.
json negativeOf(const std::string &dimension) {
  const json data =
      json::parse(std::ifstream(WRIT_SOURCE_DIR "/tests/data/invariance/controls.json"));
  for (const json &control : data["controls"])
    if (control["dimension"] == dimension)
      return control["negative"];
  throw std::runtime_error("no control of " + dimension);
}

const json kAscendingFma{
    {"accumulator", "fp32"}, {"multiply_add", "fma"}, {"order", "ascending"}, {"merge", "none"}};
json lanes(int count) {
  return {{"accumulator", "fp32"},
          {"multiply_add", "fma"},
          {"order", "lanes"},
          {"lanes", count},
          {"merge", "tree_halves"}};
}

/// The control's contract where an implementation took this reduction for what the word leaves
/// open.
std::unique_ptr<Problem> taking(const std::string &dimension, const json &reduction,
                                const Dimensions &shape, const std::vector<int32_t> &positions) {
  const json negative = negativeOf(dimension);
  json contract = Data::get().contracts.at(negative["contract"]);
  EXPECT_EQ(negative["word"], "implementation_defined") << dimension;
  setField(contract, negative["field"], "taken");
  json vocabulary = Data::get().vocabulary;
  vocabulary["words"]["reduction"]["taken"] = reduction;
  auto problem = makeProblemOf(contract, shape, {.seed = 3, .positions = positions}, vocabulary);
  problem->evaluate();
  return problem;
}

Bits bitsOf(std::span<const std::byte> bytes) {
  return std::hash<std::string_view>{}(
      {reinterpret_cast<const char *>(bytes.data()), bytes.size()});
}
Bits reference(const Problem &problem) {
  return bitsOf(problem.buffers.at("out").bytes());
}

/// How a call is made.
struct Way {
  writ_body body = nullptr;
  int threads = 1;
  int64_t rowsOfStep = 0; ///< 0: all in one
};

/// One argument of a kernel, as the call of the rows [first, first + count) of all has it.
uint64_t sliced(const Problem &problem, const json &argument, uint64_t slot, int64_t first,
                int64_t count) {
  const std::string bind = argument["bind"], type = argument["type"];
  if (bind == "dim:rows")
    return static_cast<uint64_t>(count);
  if (bind == "rows.position" || bind == "rows.sequence")
    return slot + static_cast<uint64_t>(first) * sizeof(int32_t);
  if (bind.starts_with("operand:") && type != "weight") {
    const auto bytes = problem.call.operands.at(bind.substr(8)).bytes.size();
    return slot + static_cast<uint64_t>(first) * bytes /
                      static_cast<uint64_t>(problem.call.dimensions.at("rows"));
  }
  return slot;
}

/// Runs all rows of a problem, some in each step, over a pool; the output's bits.
Bits run(Problem &problem, const json &map, const Way &way, uint64_t seed = 1) {
  KernelCall call(problem, map, seed);
  call.poison();
  writ_pool pool(way.threads, way.threads);
  const json &arguments = map["arguments"];
  const auto *slots = static_cast<const uint64_t *>(call.arguments());
  const int64_t rows = problem.call.dimensions.at("rows");
  const int64_t step = way.rowsOfStep ? way.rowsOfStep : rows;
  for (int64_t first = 0; first < rows; first += step) {
    std::vector<uint64_t> own;
    std::map<std::string, int64_t> integers;
    for (size_t i = 0; i < arguments.size(); ++i) {
      own.push_back(sliced(problem, arguments[i], slots[i], first, std::min(step, rows - first)));
      integers[arguments[i]["name"]] = static_cast<int64_t>(own.back());
    }
    int64_t extent = 1;
    for (const std::string name : map["threading"]["extent"])
      extent *= integers.at(name);
    const int64_t grain = map["threading"]["grain"];
    pool.run(way.body, own.data(), (extent + grain - 1) / grain);
  }
  return bitsOf(call.output("out"));
}

const json &mapOf(const std::string &provider) {
  return Data::get().kernelMaps.at(provider);
}
/// The map of a provider, but with its weights as they are.
json plainMapOf(const std::string &provider) {
  json map = mapOf(provider);
  for (auto &[name, operand] : map["operands"].items())
    operand.erase("layout");
  return map;
}

/// The bits that a provider of the portable class has in each of these ways: the reference's.
void expectPortable(const std::string &provider, const Dimensions &shape,
                    const std::vector<int32_t> &positions, std::vector<Way> ways) {
  const json &map = mapOf(provider);
  auto problem = makeProblem(map["contracts"][0], shape, {.seed = 3, .positions = positions});
  problem->evaluate();
  for (Way &way : ways) {
    way.body = way.body ? way.body : writ_find_provider(provider.c_str())->bodies[WRIT_ISA_SCALAR];
    for (const uint64_t seed : {1, 2}) // other pages
      EXPECT_EQ(run(*problem, map, way, seed), reference(*problem)) << provider;
  }
}

const Dimensions kNorm{{"rows", 6}, {"vectors", 4}, {"n", 777}};
const Dimensions kLinear{{"rows", 3}, {"k", 200}, {"n", 33}};
const Dimensions kAttention{{"rows", 18}, {"heads", 4}, {"kv_heads", 2}, {"head_dim", 64}};

std::vector<int32_t> sixSteps(int32_t first) { // of three sequences, in turn
  std::vector<int32_t> positions;
  for (int32_t i = 0; i < 18; ++i)
    positions.push_back(first + i / 3);
  return positions;
}

// The same call twice: who comes first is added first.
TEST(OpenOrders, S6_S7_ASumInTheOrderOfArrivalChangesFromRunToRun) {
  auto problem = taking("run", kAscendingFma, kNorm, {});
  KernelCall call(*problem, mapOf("rms_norm_f32"), 1);
  writ_pool pool(3, 3);
  std::map<std::vector<int>, Bits> seen;
  for (std::vector<int> rank : {std::vector{0, 1, 2}, std::vector{2, 1, 0}, std::vector{1, 2, 0}}) {
    for (int again = 0; again < 2; ++again) {
      call.poison();
      normByArrival(pool, *static_cast<const rms_norm_f32_args *>(call.arguments()), rank);
      const Bits bits = bitsOf(call.output("out"));
      // The order of arrival is all that changes.
      EXPECT_EQ(seen.emplace(rank, bits).first->second, bits);
    }
  }
  std::set<Bits> different;
  for (const auto &[rank, bits] : seen)
    different.insert(bits);
  EXPECT_GT(different.size(), 1u);
  expectPortable("rms_norm_f32", kNorm, {}, {{.threads = 3}, {.threads = 3}});
}

// C5: at 512 keys and more each worker has a range of its own, below there is one.
TEST(OpenOrders, C5_S1_ASplitAmongTheWorkersChangesFromItsThresholdOnAndNotBelow) {
  const json &map = mapOf("attention_f16_tiles32_chunks256");
  for (const int32_t keys : {511, 512, 513}) {
    std::set<Bits> different;
    const Dimensions shape{{"rows", 1}, {"heads", 2}, {"kv_heads", 1}, {"head_dim", 64}};
    for (const int workers : {1, 2, 3, 7}) {
      auto problem = makeProblem("f16_online_fp32_merge", shape,
                                 {.seed = 5, .positions = {keys - 1}, .workers = workers});
      problem->evaluate();
      KernelCall call(*problem, map, 1);
      call.poison();
      writ_pool pool(workers, workers);
      attentionSplitKv(
          pool, *static_cast<const attention_f16_tiles32_chunks256_args *>(call.arguments()));
      EXPECT_EQ(call.difference(), "") << keys << " keys, " << workers << " workers";
      different.insert(bitsOf(call.output("out")));
    }
    EXPECT_EQ(different.size(), keys < 512 ? 1u : 4u) << keys << " keys";
    expectPortable("attention_f16_tiles32_chunks256", shape, {keys - 1},
                   {{.threads = 1}, {.threads = 2}, {.threads = 3}, {.threads = 7}});
  }
}

/// Bits of a control's double in a way, which are the reference's for the reduction that it takes.
Bits expectTakes(const std::string &dimension, const json &reduction, const Dimensions &shape,
                 const std::vector<int32_t> &positions, const json &map, const Way &way) {
  auto problem = taking(dimension, reduction, shape, positions);
  const Bits bits = run(*problem, map, way);
  EXPECT_EQ(bits, reference(*problem)) << dimension << " with " << reduction;
  return bits;
}

TEST(OpenOrders, S2_ALinearThatDotsOneRowAndAccumulatesManyChangesWithTheBatch) {
  const json map = plainMapOf("linear_f32");
  const Bits alone = expectTakes("batch", lanes(16), kLinear, {}, map,
                                 {.body = linear_by_rows, .threads = 2, .rowsOfStep = 1});
  const Bits together =
      expectTakes("batch", kAscendingFma, kLinear, {}, map, {.body = linear_by_rows, .threads = 2});
  EXPECT_NE(alone, together);
  // Threads are another dimension, and do not matter here.
  EXPECT_EQ(together, expectTakes("batch", kAscendingFma, kLinear, {}, map,
                                  {.body = linear_by_rows, .threads = 3}));
  expectPortable("linear_f32", kLinear, {}, {{.rowsOfStep = 1}, {.rowsOfStep = 2}, {}});
}

TEST(OpenOrders, S3_AnAttentionThatDecodesByDotsAndPrefillsBySumsChangesWithTheChunk) {
  const json &map = mapOf("attention_f16_tiles32_chunks256");
  const json dot =
      Data::get().vocabulary["words"]["reduction"]["sum_f32_fma_lanes32_tree_adjacent4"];
  const auto positions = sixSteps(30);
  const Bits decode = expectTakes("chunking", dot, kAttention, positions, map,
                                  {.body = attention_by_step, .threads = 2, .rowsOfStep = 3});
  const Bits prefill = expectTakes("chunking", kAscendingFma, kAttention, positions, map,
                                   {.body = attention_by_step, .threads = 2});
  EXPECT_NE(decode, prefill);
  // Chunks of two tokens and of three are both prefill.
  for (const int64_t rows : {6, 9})
    EXPECT_EQ(prefill, expectTakes("chunking", kAscendingFma, kAttention, positions, map,
                                   {.body = attention_by_step, .rowsOfStep = rows}));
  expectPortable("attention_f16_tiles32_chunks256", kAttention, positions,
                 {{.rowsOfStep = 3}, {.rowsOfStep = 6}, {.rowsOfStep = 9}, {}});
}

TEST(OpenOrders, S4_ANormOfAVectorsWidthChangesWithTheInstructionSet) {
  struct Body {
    writ_isa isa;
    int width;
    writ_body body;
  };
#if defined(__aarch64__)
  const Body bodies[] = {{WRIT_ISA_SCALAR, 1, norm_of_vector_width_scalar},
                         {WRIT_ISA_NEON, 4, norm_of_vector_width_neon}};
#else
  const Body bodies[] = {{WRIT_ISA_SCALAR, 1, norm_of_vector_width_scalar},
                         {WRIT_ISA_AVX2, 8, norm_of_vector_width_avx2},
                         {WRIT_ISA_AVX512, 16, norm_of_vector_width_avx512}};
#endif
  std::vector<Bits> seen;
  std::vector<Way> portable;
  for (const auto &[isa, width, body] : bodies) {
    if (!machineHas(isa))
      continue;
    seen.push_back(
        expectTakes("isa", lanes(width), kNorm, {}, mapOf("rms_norm_f32"), {.body = body}));
    portable.push_back({.body = writ_find_provider("rms_norm_f32")->bodies[isa]});
  }
  if (seen.size() < 2)
    GTEST_SKIP() << "this machine runs one instruction set: unresolved";
  for (size_t i = 0; i < seen.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      EXPECT_NE(seen[i], seen[j]) << isaName(bodies[i].isa) << " and " << isaName(bodies[j].isa);
  expectPortable("rms_norm_f32", kNorm, {}, portable);
}

#if defined(WRIT_FOUR_BUILDS)
#define WRIT_DECLARE(provider)                                                                     \
  extern "C" void provider##_gxx_O2(const void *, int64_t, int64_t);                               \
  extern "C" void provider##_gxx_O3(const void *, int64_t, int64_t);                               \
  extern "C" void provider##_clang_O2(const void *, int64_t, int64_t);                             \
  extern "C" void provider##_clang_O3(const void *, int64_t, int64_t);
WRIT_DECLARE(rms_norm_f32)
WRIT_DECLARE(attention_f16_tiles32_chunks256)

#define WRIT_BUILDS(body)                                                                          \
  { body##_gxx_O2, body##_gxx_O3, body##_clang_O2, body##_clang_O3 }

// What a compiler contracts when nobody says: g++ a product and a later sum, unless it vectorises
// the products first (-O3); clang++ nothing that stands in two statements. Each gives one of the
// two.
TEST(OpenOrders, S8_ASumOfProductsThatNobodyFusesChangesWithTheCompiler) {
  if (!machineHas(WRIT_ISA_AVX2))
    GTEST_SKIP() << "this machine has no fused multiply-add: unresolved";
  const Dimensions shape{{"rows", 6}, {"vectors", 4}, {"n", 768}}; // whole vectors
  auto fused = taking("compiler", kAscendingFma, shape, {});
  json twice = kAscendingFma;
  twice["multiply_add"] = "mul_add";
  auto apart = taking("compiler", twice, shape, {});
  std::vector<Bits> seen;
  for (const writ_body body : std::initializer_list<writ_body> WRIT_BUILDS(norm_left_to))
    seen.push_back(run(*fused, mapOf("rms_norm_f32"), {.body = body}));
  for (const Bits bits : seen)
    EXPECT_TRUE(bits == reference(*fused) || bits == reference(*apart));
  EXPECT_NE(seen[0], seen[2]) << "g++ -O2 and clang++ -O2";
}

TEST(OpenOrders, S8_KernelsOfBothCompilersAtBothLevelsHaveTheReferencesBits) {
  if (!machineHas(WRIT_ISA_AVX2))
    GTEST_SKIP() << "this machine has no AVX2: unresolved";
  for (const writ_body body : std::initializer_list<writ_body> WRIT_BUILDS(rms_norm_f32))
    expectPortable("rms_norm_f32", kNorm, {}, {{.body = body}});
  for (const writ_body body :
       std::initializer_list<writ_body> WRIT_BUILDS(attention_f16_tiles32_chunks256))
    expectPortable("attention_f16_tiles32_chunks256", kAttention, sixSteps(254), {{.body = body}});
}
#endif

} // namespace
} // namespace writ::test
