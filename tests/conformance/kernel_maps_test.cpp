//===- kernel_maps_test.cpp - what kernel maps promise of code and data ---===//
//
// Apart from kernels_test.cpp: the records of evidence bind what chooses inputs and compares
// outputs, and nothing here does.
//
//===----------------------------------------------------------------------===//
#include "tests/conformance/KernelCall.h"
#include "writ/kernel_table.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <set>

namespace writ::test {
namespace {

TEST(C8_KernelMaps, NameThreeFunctionsThatExistAndDiffer) {
  ASSERT_FALSE(Data::get().kernelMaps.empty());
  for (const auto &[id, map] : Data::get().kernelMaps) {
    const std::string oracle = map["functions"]["contract_oracle"];
    const std::string production = map["functions"]["production"];
    const std::string threaded = map["functions"]["threaded"];
    EXPECT_EQ(std::set({oracle, production, threaded}).size(), 3u) << id;
    EXPECT_NE(reference::findReference(oracle), nullptr) << id;
    const std::string op = map["op"];
    EXPECT_EQ(oracle, Data::get().vocabulary["families"][op].contains("parts") ? "reference_fused"
                                                                               : "reference_" + op)
        << id;
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

/// The word that an op has of an attribute; one that it may leave out has a default.
nlohmann::json wordOf(const nlohmann::json &op, const std::string &attribute) {
  const nlohmann::json given = op.value("attributes", nlohmann::json::object());
  if (given.contains(attribute))
    return given[attribute];
  const nlohmann::json &words = Data::get().vocabulary["words"][attribute];
  for (const auto &[word, entry] : words.items())
    if (entry.value("default", false))
      return word;
  return {};
}

/// Whether some op of a circuit has the attributes that a rule names; its storages are the model's.
bool isAskedFor(const nlohmann::json &rule, const std::vector<nlohmann::json> &ops) {
  const auto &attributes = Data::get().vocabulary["families"][rule["op"]]["attributes"];
  return std::any_of(ops.begin(), ops.end(), [&](const nlohmann::json &op) {
    if (op["op"] != rule["op"])
      return false;
    for (std::string attribute : attributes) {
      if (const std::string optional = "optional "; attribute.starts_with(optional))
        attribute.erase(0, optional.size());
      if (rule["match"].contains(attribute) && wordOf(op, attribute) != rule["match"][attribute])
        return false;
    }
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
  for (const auto &[profile, json] : Data::get().profiles)
    for (const auto &[id, map] : Data::get().kernelMaps)
      if (std::ranges::count(json["fusions"], map["op"]) == 1)
        served.insert(id);
  for (const auto &[id, map] : Data::get().kernelMaps)
    EXPECT_TRUE(served.contains(id)) << id << " serves no profile";
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

} // namespace
} // namespace writ::test
