//===- kernels_test.cpp - every kernel body against the contract ----------===//
//
// Generated from the kernel maps when the program runs: one case for each provider, instruction set
// and shape. Each body is called directly, with packed weights and paged KV, over several kinds of
// values and several splits, into poisoned outputs, and must give the reference's bits.
//
//===----------------------------------------------------------------------===//
#include "tests/conformance/KernelCall.h"
#include "writ/kernel_table.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iostream>
#include <set>
#include <tuple>

namespace writ::test {
namespace {

struct Case {
  std::string provider, isa;
  Shape shape;
  bool atEdges = false; ///< every shape of edgeShapes() instead
};
void PrintTo(const Case &c, std::ostream *out) {
  *out << c.provider << " " << c.isa;
}

/// Chosen shapes of a family: tails and whole tiles of several dimensions together. edgeShapes()
/// adds what the data name.
std::vector<Shape> shapesOf(const std::string &family) {
  std::vector<Shape> shapes;
  if (family == "linear") {
    const int64_t sizes[][3] = {{1, 32, 1},    {1, 32, 16},    {2, 64, 17},  {3, 288, 33},
                                {5, 256, 47},  {6, 576, 64},   {7, 2080, 9}, {13, 1536, 3},
                                {25, 96, 40},  {49, 320, 18},  {1, 1, 1},    {2, 33, 5},
                                {8, 45, 17},   {1, 300, 100},  {1, 256, 16}, {2, 512, 33},
                                {7, 2304, 50}, {13, 1024, 16}, {5, 4352, 31}};
    for (const auto &[rows, k, n] : sizes)
      shapes.push_back({{{"rows", rows}, {"k", k}, {"n", n}}});
  } else if (family == "embedding") {
    for (const int64_t n : {1, 31, 32, 64, 96, 256, 576, 1280})
      shapes.push_back({{{"rows", 9}, {"vocabulary", n == 64 ? 1 : 37}, {"n", n}}});
  } else if (family == "quantize_activation") {
    for (const int64_t k : {32, 64, 160, 256, 576, 1056, 1280})
      shapes.push_back({{{"rows", k == 64 ? 1 : 5}, {"k", k}}});
  } else if (family == "rope_table") {
    for (const int64_t dims : {2, 6, 16, 64, 130})
      shapes.push_back(
          {{{"rows", 8}, {"rope_dims", dims}}, {0, 1, 2, 600, 8191, 131071, 1 << 24, INT32_MAX}});
  } else if (family == "rope") {
    const int64_t sizes[][3] = {{1, 2, 2},    {1, 16, 16}, {9, 64, 64},  {3, 80, 20},
                                {2, 128, 96}, {5, 34, 32}, {4, 256, 256}};
    for (const auto &[heads, headDim, dims] : sizes)
      shapes.push_back(
          {{{"rows", 3}, {"heads", heads}, {"head_dim", headDim}, {"rope_dims", dims}}});
  } else if (family == "kv_store") {
    for (const int64_t headDim : {1, 16, 64, 100, 256})
      shapes.push_back({{{"rows", 9}, {"kv_heads", 3}, {"head_dim", headDim}},
                        {0, 0, 0, 1, 15, 16, 17, 31, 255}});
  } else if (family == "attention") {
    auto add = [&](int64_t heads, int64_t kvHeads, int64_t headDim, std::vector<int32_t> positions,
                   int64_t window = 0) {
      const auto rows = static_cast<int64_t>(positions.size());
      shapes.push_back(
          {{{"rows", rows}, {"heads", heads}, {"kv_heads", kvHeads}, {"head_dim", headDim}},
           std::move(positions),
           window});
    };
    add(1, 1, 16, {0});
    add(2, 1, 16, {0, 1, 15, 16, 17, 30, 31, 32, 33, 62, 63, 64, 65});
    add(9, 3, 64, {31, 32, 33, 95});
    add(2, 2, 32, {254, 255, 256, 257, 287, 288});
    add(3, 1, 64, {511, 512, 600});
    add(16, 2, 48, {600});
    add(4, 1, 128, {5, 300});
    add(4, 1, 256, {5, 33});
    add(2, 1, 512, {2, 33});                  // the largest that the maps take
    add(1, 1, 16, {510, 511, 512, 513}, 512); // where a window of two chunks begins to slide
    // A prefill chunk: consecutive positions of each of the three sequences.
    add(4, 2, 16,
        {40, 250, 0, 41, 251, 1, 42, 252, 2, 43, 253, 3, 44, 254, 4, 45, 255, 5, 46, 256, 6});
  } else if (family == "sample" || family == "log_probability") {
    for (const int64_t vocabulary : {1, 2, 15, 63, 64, 65, 1000, 4099})
      shapes.push_back({{{"rows", vocabulary > 1000 ? 3 : 12}, {"vocabulary", vocabulary}}});
  } else if (family == "rms_norm") {
    const int64_t sizes[][3] = {{5, 1, 1},  {5, 1, 63},  {1, 1, 64},  {3, 4, 16},
                                {2, 3, 65}, {2, 4, 256}, {5, 1, 576}, {4, 1, 1000}};
    for (const auto &[rows, vectors, n] : sizes)
      shapes.push_back({{{"rows", rows}, {"vectors", vectors}, {"n", n}}});
  } else { // one element after another
    for (const int64_t n : {1, 7, 15, 16, 17, 63, 64, 65, 576, 1000})
      shapes.push_back({{{"rows", n == 64 ? 1 : 5}, {"n", n}}});
  }
  return shapes;
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const auto &[id, map] : Data::get().kernelMaps)
    for (const std::string isa : map["isa"]) {
      if (!isBuilt(isaOf(isa)))
        continue;
      for (const Shape &shape : shapesOf(map["op"]))
        if (accepts(map, shape.dimensions))
          list.push_back({id, isa, shape});
      list.push_back({id, isa, {}, true});
    }
  return list;
}

std::string caseName(const testing::TestParamInfo<Case> &info) {
  std::string name = info.param.provider + "_" + info.param.isa;
  if (info.param.atEdges)
    return name + "_edges";
  for (const auto &[dimension, size] : info.param.shape.dimensions)
    name += "_" + dimension + std::to_string(size);
  return name;
}

using Ranges = std::vector<std::pair<int64_t, int64_t>>;

/// Whole; unit by unit from the last; in random pieces, in random order.
std::vector<Ranges> splits(int64_t units, Random &random) {
  Ranges single, pieces;
  for (int64_t unit = units - 1; unit >= 0; --unit)
    single.push_back({unit, unit + 1});
  for (int64_t begin = 0; begin < units;) {
    const int64_t end = std::min(units, begin + 1 + random.below(units));
    pieces.push_back({begin, end});
    begin = end;
  }
  for (size_t i = pieces.size(); i > 1; --i)
    std::swap(pieces[i - 1], pieces[static_cast<size_t>(random.below(static_cast<int64_t>(i)))]);
  return {{{0, units}}, single, pieces};
}

constexpr Fill kFills[] = {Fill::plain, Fill::cancelling, Fill::spread,
                           Fill::equal, Fill::tiny,       Fill::special};
constexpr int64_t kWindows[] = {1, 31, 32, 33, 256, 300}; // one for each kind of values

/// A problem that the reference has evaluated, and that nobody changes. The bodies of a provider
/// get the same ones, one body after another: those of one provider are kept, where one process
/// runs its cases.
Problem &evaluated(const Case &c, const std::string &contract, const Shape &shape, Fill fill,
                   uint64_t seed) {
  using Key = std::tuple<std::string, Dimensions, std::vector<int32_t>, int64_t, Fill, uint64_t>;
  static std::string provider;
  static std::map<Key, std::unique_ptr<Problem>> kept;
  if (provider != c.provider)
    kept.clear();
  provider = c.provider;
  auto &problem = kept[{contract, shape.dimensions, shape.positions, shape.window, fill, seed}];
  if (!problem) {
    problem = makeProblem(contract, shape.dimensions,
                          {fill, seed, seed % 2 == 0, shape.positions,
                           shape.window > 0 ? shape.window : kWindows[seed % std::size(kWindows)]});
    problem->evaluate();
  }
  return *problem;
}

/// One body against the reference over one contract, shape and kind of values, split in each way.
/// Returns what differs, or ""; adds what was compared to `elements`.
std::string compare(const Case &c, const std::string &contract, const Shape &shape, Fill fill,
                    uint64_t seed, int64_t &elements) {
  const nlohmann::json &map = Data::get().kernelMaps.at(c.provider);
  const writ_provider *provider = writ_find_provider(c.provider.c_str());
  const writ_body body = provider ? provider->bodies[isaOf(c.isa)] : nullptr;
  if (!body)
    return "there is no such body";
  Random random(seed);
  KernelCall call(evaluated(c, contract, shape, fill, seed), map, seed);
  for (const Ranges &ranges : splits(call.units(), random)) {
    call.poison();
    call.run(body, ranges);
    if (const std::string difference = call.difference(); !difference.empty())
      return contract + " " + nameOf(shape) + ", values " + nameOf(fill) + ", " +
             std::to_string(ranges.size()) + " ranges: " + difference;
    elements += call.elements();
  }
  return "";
}

class C8_ProductionEqualsReference : public testing::TestWithParam<Case> {};

TEST_P(C8_ProductionEqualsReference, BitForBit) {
  const Case &c = GetParam();
  if (!machineHas(isaOf(c.isa))) {
    std::cout << "this machine has no " << c.isa << ": body not run\n";
    GTEST_SKIP();
  }
  const nlohmann::json &map = Data::get().kernelMaps.at(c.provider);
  uint64_t seed = 0;
  int64_t elements = 0;
  std::string fills, shapes;
  for (const std::string contract : map["contracts"]) {
    // A shape of its own in each case; all edges of the data, with values in turn, in one case.
    const std::vector<Shape> edges =
        c.atEdges ? edgeShapes(map, contract) : std::vector<Shape>{c.shape};
    ASSERT_FALSE(edges.empty());
    for (size_t i = 0; i < edges.size(); ++i) {
      shapes += (shapes.empty() ? "" : ",") + nameOf(edges[i]);
      for (size_t fill = 0; fill < std::size(kFills); ++fill) {
        ++seed;
        if (c.atEdges && fill != i % std::size(kFills))
          continue;
        ASSERT_EQ(compare(c, contract, edges[i], kFills[fill], seed, elements), "");
      }
    }
  }
  EXPECT_GT(elements, 0);
  for (const Fill fill : kFills)
    fills += (fills.empty() ? "" : ",") + std::string(nameOf(fill));
  RecordProperty("elements", std::to_string(elements));
  RecordProperty("fills", fills);
  RecordProperty("shapes", shapes);
}

INSTANTIATE_TEST_SUITE_P(, C8_ProductionEqualsReference, testing::ValuesIn(cases()), caseName);

TEST(C8_KernelMaps, NameThreeFunctionsThatExistAndDiffer) {
  ASSERT_FALSE(Data::get().kernelMaps.empty());
  for (const auto &[id, map] : Data::get().kernelMaps) {
    const std::string oracle = map["functions"]["contract_oracle"];
    const std::string production = map["functions"]["production"];
    const std::string threaded = map["functions"]["threaded"];
    EXPECT_EQ(std::set({oracle, production, threaded}).size(), 3u) << id;
    EXPECT_NE(reference::findReference(oracle), nullptr) << id;
    EXPECT_EQ(oracle, "reference_" + map["op"].get<std::string>()) << id;
    EXPECT_NE(writ_find_provider(production.c_str()), nullptr) << id;
    EXPECT_EQ(production, id);
    EXPECT_EQ(threaded, production + "_threaded") << id;
  }
}

TEST(C8_KernelMaps, EveryProviderHasAMapAndTheBodiesThatItLists) {
  uint32_t count = 0;
  const writ_provider *const *providers = writ_providers(&count);
  ASSERT_EQ(count, Data::get().kernelMaps.size());
  for (uint32_t i = 0; i < count; ++i) {
    ASSERT_TRUE(Data::get().kernelMaps.contains(providers[i]->id)) << providers[i]->id;
    const nlohmann::json &isa = Data::get().kernelMaps.at(providers[i]->id)["isa"];
    for (const char *name : kIsaNames)
      EXPECT_EQ(providers[i]->bodies[isaOf(name)] != nullptr,
                isBuilt(isaOf(name)) && std::find(isa.begin(), isa.end(), name) != isa.end())
          << providers[i]->id << ", " << name;
  }
}

/// The ops of a circuit, wherever they stand in it: family and attributes.
void collectOps(const nlohmann::json &json, std::vector<nlohmann::json> &ops) {
  if (json.is_object() && json.contains("op") && json["op"].is_string())
    ops.push_back(json);
  if (json.is_structured())
    for (const nlohmann::json &inner : json)
      collectOps(inner, ops);
}

/// Whether some op of a circuit has the attributes that a rule names; its storages are the model's.
bool isAskedFor(const nlohmann::json &rule, const std::vector<nlohmann::json> &ops) {
  const auto &attributes = Data::get().vocabulary["families"][rule["op"]]["attributes"];
  return std::any_of(ops.begin(), ops.end(), [&](const nlohmann::json &op) {
    if (op["op"] != rule["op"])
      return false;
    for (const std::string attribute : attributes)
      if (rule["match"].contains(attribute) &&
          op.value("attributes", nlohmann::json::object()).value(attribute, nlohmann::json()) !=
              rule["match"][attribute])
        return false;
    return true;
  });
}

// What a circuit asks for has one provider. A contract that no circuit of ours asks for may have
// none, and is refused where a model does (E101); no contract has two.
TEST(C8_KernelMaps, EveryProfileContractThatACircuitAsksForHasOneProvider) {
  std::vector<nlohmann::json> ops;
  for (const auto &entry :
       std::filesystem::directory_iterator(std::string(WRIT_SOURCE_DIR) + "/circuits"))
    if (entry.path().extension() == ".json")
      collectOps(nlohmann::json::parse(std::ifstream(entry.path())), ops);
  ASSERT_GT(ops.size(), 40u);
  std::set<std::string> served;
  for (const auto &[profile, json] : Data::get().profiles)
    for (const auto &rule : json["rules"]) {
      int providers = 0;
      for (const auto &[id, map] : Data::get().kernelMaps)
        for (const auto &contract : map["contracts"])
          if (contract == rule["contract"]) {
            ++providers;
            served.insert(id);
          }
      EXPECT_LE(providers, 1) << profile << ": " << rule["contract"];
      if (isAskedFor(rule, ops)) {
        EXPECT_EQ(providers, 1) << profile << ": " << rule["contract"];
      }
    }
  for (const auto &[id, map] : Data::get().kernelMaps)
    EXPECT_TRUE(served.contains(id)) << id << " serves no profile";
}

// Negative controls: the comparison sees one wrong bit, a missing element, a write beyond the end,
// a NaN.

std::string differenceAfter(const std::function<void(std::span<float>)> &damage) {
  auto problem = makeProblem("residual_f32_v0", {{"rows", 2}, {"n", 5}}, {});
  problem->evaluate();
  KernelCall call(*problem, Data::get().kernelMaps.at("residual_f32"), 1);
  call.poison();
  call.run(writ_find_provider("residual_f32")->bodies[WRIT_ISA_SCALAR], {{0, call.units()}});
  damage(problem->floats("out"));
  return call.difference();
}

TEST(C8_ComparisonSees, NoFaultWhereThereIsNone) {
  EXPECT_EQ(differenceAfter([](std::span<float>) {}), "");
}

TEST(C8_ComparisonSees, OneBit) {
  EXPECT_NE(differenceAfter([](std::span<float> out) { out[7] = std::nextafter(out[7], 9.0f); }),
            "");
}

TEST(C8_ComparisonSees, NaN) {
  EXPECT_NE(differenceAfter([](std::span<float> out) { out[3] = std::nanf(""); }), "");
}

TEST(C8_ComparisonSees, AnInfinity) {
  EXPECT_NE(differenceAfter([](std::span<float> out) { out[3] = HUGE_VALF; }), "");
}

TEST(C8_ComparisonSees, TheSignOfZero) {
  auto problem = makeProblem("residual_f32_v0", {{"rows", 2}, {"n", 5}}, {});
  for (const char *operand : {"a", "b"})
    std::ranges::fill(problem->floats(operand), 0.0f);
  problem->evaluate();
  KernelCall call(*problem, Data::get().kernelMaps.at("residual_f32"), 1);
  call.poison();
  call.run(writ_find_provider("residual_f32")->bodies[WRIT_ISA_SCALAR], {{0, call.units()}});
  EXPECT_EQ(call.difference(), "");
  problem->floats("out")[9] = -0.0f;
  EXPECT_NE(call.difference(), "");
}

TEST(C8_ComparisonSees, AWriteBeyondTheEnd) {
  auto problem = makeProblem("residual_f32_v0", {{"rows", 2}, {"n", 5}}, {});
  problem->evaluate();
  KernelCall call(*problem, Data::get().kernelMaps.at("residual_f32"), 1);
  call.poison();
  const writ_body beyond = [](const void *args, int64_t begin, int64_t end) {
    writ_find_provider("residual_f32")->bodies[WRIT_ISA_SCALAR](args, begin, end);
    float *out; // the argument block's third slot, as the map says
    std::memcpy(&out, static_cast<const char *>(args) + 2 * sizeof(void *), sizeof(out));
    out[10] = 0.0f;
  };
  call.run(beyond, {{0, call.units()}});
  EXPECT_EQ(call.difference(), "operand 'out' was written beyond its end");
}

// The shapes that the data name are there: a map's step, a contract's lanes, tile and threshold.
TEST(C8_EdgesOfTheData, AreOneBelowAtAndOneAbove) {
  const auto sizes = [](const char *provider, const char *contract, const char *dimension) {
    std::set<int64_t> found;
    for (const Shape &shape : edgeShapes(Data::get().kernelMaps.at(provider), contract))
      found.insert(dimension ? shape.dimensions.at(dimension)
                             : 1 + *std::ranges::max_element(shape.positions));
    return found;
  };
  const auto holds = [](const std::set<int64_t> &found, std::vector<int64_t> wanted) {
    return std::ranges::all_of(wanted, [&](int64_t size) { return found.contains(size); });
  };
  EXPECT_TRUE(holds(sizes("rms_norm_f32", "rms_norm_f32_lanes64_v0", "n"), {1, 63, 64, 65}));
  EXPECT_TRUE(
      holds(sizes("linear_q4_1_i8_b32", "linear_q4_1_i8_b32_v0", "k"), {32, 64, 224, 256, 288}));
  EXPECT_TRUE(holds(
      sizes("attention_f16_tiles32_chunks256", "attention_f16_kv_tiles32_chunks256_v0", nullptr),
      {31, 32, 33, 255, 256, 257, 258}));
}

TEST(C8_ComparisonSees, UnitsThatDidNotRun) {
  auto problem = makeProblem("residual_f32_v0", {{"rows", 3}, {"n", 5}}, {});
  problem->evaluate();
  KernelCall call(*problem, Data::get().kernelMaps.at("residual_f32"), 1);
  call.poison();
  call.run(writ_find_provider("residual_f32")->bodies[WRIT_ISA_SCALAR], {{0, call.units() - 1}});
  EXPECT_NE(call.difference(), "");
}

TEST(C8_ComparisonSees, AnotherMergeOrder) {
  auto problem = makeProblem("linear_f32_v0", {{"rows", 2}, {"k", 512}, {"n", 40}}, {});
  problem->vocabulary["words"]["reduction"]["sum_f32_fma_segments8"]["merge"] = "tree_halves";
  problem->evaluate();
  KernelCall call(*problem, Data::get().kernelMaps.at("linear_f32"), 1);
  call.poison();
  call.run(writ_find_provider("linear_f32")->bodies[WRIT_ISA_SCALAR], {{0, call.units()}});
  EXPECT_NE(call.difference(), "");
}

} // namespace
} // namespace writ::test
