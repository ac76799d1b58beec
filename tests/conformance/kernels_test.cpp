//===- kernels_test.cpp - every kernel body against the contract ----------===//
//
// Generated from the kernel maps when the program runs: one case for each provider, instruction set
// and shape. Each body is called directly, with packed weights and paged KV, over several kinds of
// values and several splits, into poisoned outputs, and must give the reference's bits.
//
//===----------------------------------------------------------------------===//
#include "tests/conformance/Evaluated.h"
#include "tests/conformance/KernelCall.h"
#include "writ/kernel_table.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <iostream>
#include <set>

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
  } else if (family == "rms_norm_quantize") {
    for (const int64_t n : {32, 96, 256, 576, 1024})
      shapes.push_back({{{"rows", n == 96 ? 1 : 5}, {"vectors", 1}, {"n", n}}});
  } else { // one element after another
    for (const int64_t n : {1, 7, 15, 16, 17, 63, 64, 65, 576, 1000})
      shapes.push_back({{{"rows", n == 64 ? 1 : 5}, {"n", n}}});
  }
  return shapes;
}

/// Instruction sets innermost: they share what the reference gives.
std::vector<Case> cases() {
  std::vector<Case> list;
  for (const auto &[id, map] : Data::get().kernelMaps) {
    std::vector<Case> shapes;
    for (const Shape &shape : shapesOf(map["op"]))
      if (accepts(map, shape.dimensions))
        shapes.push_back({id, "", shape});
    shapes.push_back({id, "", {}, true});
    for (Case &one : shapes)
      for (const std::string isa : map["isa"])
        if (isBuilt(isaOf(isa))) {
          one.isa = isa;
          list.push_back(one);
        }
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

constexpr int64_t kWindows[] = {1, 31, 32, 33, 256, 300};

/// The kinds of values of shape `index` of the edges: three, so that neighbours, which are edges of
/// one dimension, have all of them together.
std::vector<Fill> fillsAtEdge(size_t index) {
  std::vector<Fill> fills;
  for (const size_t step : {0, 3, 6})
    fills.push_back(kFills[(index + step) % std::size(kFills)]);
  return fills;
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
  static Evaluated evaluated;
  const int64_t window = shape.window > 0 ? shape.window : kWindows[seed % std::size(kWindows)];
  Problem &problem = evaluated.get(c.provider + (c.atEdges ? "" : nameOf(c.shape)), contract, shape,
                                   {fill, seed, seed % 2 == 0, shape.positions, window});
  KernelCall call(problem, map, seed);
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
  std::set<std::string> fills;
  std::string shapes, fillNames;
  const std::vector<Fill> allFills(std::begin(kFills), std::end(kFills));
  for (const std::string contract : map["contracts"]) {
    // A shape of its own in each case; all edges of the data, with values in turn, in one case.
    const std::vector<Shape> edges =
        c.atEdges ? edgeShapes(map, contract) : std::vector<Shape>{c.shape};
    ASSERT_FALSE(edges.empty());
    for (size_t i = 0; i < edges.size(); ++i) {
      shapes += (shapes.empty() ? "" : ",") + nameOf(edges[i]);
      for (const Fill fill : c.atEdges ? fillsAtEdge(i) : allFills) {
        ASSERT_EQ(compare(c, contract, edges[i], fill, ++seed, elements), "");
        fills.insert(nameOf(fill));
      }
    }
  }
  EXPECT_GT(elements, 0);
  EXPECT_EQ(fills.size(), std::size(kFills)) << "a kind of values was not among them";
  for (const std::string &fill : fills)
    fillNames += (fillNames.empty() ? "" : ",") + fill;
  RecordProperty("elements", std::to_string(elements));
  RecordProperty("fills", fillNames);
  RecordProperty("shapes", shapes);
}

INSTANTIATE_TEST_SUITE_P(, C8_ProductionEqualsReference, testing::ValuesIn(cases()), caseName);

} // namespace
} // namespace writ::test
