//===- new_contract_test.cpp - a contract that nobody wrote code for ------===//
//
// A contract over known words is added to a copy of the data while the test runs. The reference
// gives its result, the compiler derives its invariance, and resolution says which provider is
// missing.
//
//===----------------------------------------------------------------------===//
#include "compiler/Resolve/Invariance.h"
#include "compiler/Resolve/Resolver.h"
#include "tests/conformance/Problem.h"
#include "tests/diagnostics/EditedTree.h"

#include <cmath>
#include <functional>

namespace writ::test {
namespace {

using Value = EditedTree::Value;

/// A registered contract under another id, with other words, and the profile's rule for it.
void addContract(const EditedTree &tree, const std::string &family, const std::string &from,
                 const std::string &id, const std::map<std::string, std::string> &words) {
  Value json = Value::parse(tree.read("contracts/" + family + "/" + from + ".json"));
  json["id"] = id;
  for (const auto &[field, word] : words)
    json[field] = word;
  tree.write("contracts/" + family + "/" + id + ".json", json.dump(1));
  tree.edit("contracts/profiles/portable.json", [&](Value &profile) {
    for (Value &rule : profile["rules"])
      if (rule["contract"] == from)
        rule["contract"] = id;
  });
}

/// v[i] += v[i + s] for s = 8, 4, 2, 1.
float treeOf16(std::vector<float> v) {
  for (size_t s = 8; s > 0; s /= 2)
    for (size_t i = 0; i < s; ++i)
      v[i] = v[i] + v[i + s];
  return v[0];
}

/// Sum of a * b in 16 lanes, one fma each.
float dotIn16Lanes(const float *a, const float *b, int64_t count) {
  std::vector<float> lanes(16, 0.0f);
  for (int64_t i = 0; i < count; ++i)
    lanes[i % 16] = std::fma(a[i], b[i], lanes[i % 16]);
  return treeOf16(lanes);
}

std::unique_ptr<Problem> problemOf(const Catalog &catalog, const std::string &id,
                                   const Dimensions &dimensions) {
  auto problem = makeProblemOf(catalog.contracts().at(id).json.plain(), dimensions,
                               {Fill::plain, 4, true, {}});
  problem->evaluate();
  return problem;
}

/// What resolving an op of the profile's contract says.
std::string refusalOf(const EditedTree &tree, const Catalog &catalog, Requirement requirement) {
  requirement.contract = contractOf(catalog, catalog.profiles().at("portable"), requirement.op,
                                    requirement.storage, "profile", requirement.location);
  try {
    resolve(catalog, requirement);
    return "";
  } catch (const Error &error) {
    return tree.relative(error.what());
  }
}

void expectInvariant(const Catalog &catalog, const std::string &id) {
  const ContractInvariance derived = deriveInvariance(catalog, catalog.contracts().at(id));
  for (const std::string &dimension : catalog.invariance().dimensionNames())
    EXPECT_TRUE(derived.holds(dimension)) << id << ", " << dimension;
}

TEST(C8_NewContract, ANormOfOtherLanesRunsWithoutALineOfCode) {
  const std::string id = "rms_norm_f32_lanes16_v0";
  EditedTree tree;
  addContract(tree, "rms_norm", "rms_norm_f32_lanes64_v0", id,
              {{"sum_of_squares", "sum_f32_fma_lanes16_tree"}});
  const Catalog catalog = tree.load();
  constexpr int64_t n = 150;
  const auto problem = problemOf(catalog, id, {{"rows", 60}, {"vectors", 1}, {"n", n}});
  const float *x = problem->floats("input").data(), *w = problem->floats("weight").data();
  const auto epsilon = static_cast<float>(problem->call.numbers.at("epsilon"));
  int differs = 0; // from the registered contract, or the words would not matter
  const auto registered =
      makeProblem("rms_norm_f32_lanes64_v0", problem->call.dimensions, {Fill::plain, 4, true, {}});
  registered->evaluate();
  for (int64_t row = 0; row < 60; ++row) {
    const float mean = dotIn16Lanes(x + row * n, x + row * n, n) / static_cast<float>(n);
    const float root = 1.0f / std::sqrt(mean + epsilon);
    for (int64_t i = 0; i < n; ++i) {
      const float scaled = x[row * n + i] * root;
      EXPECT_TRUE(sameFloat(problem->floats("out")[row * n + i], scaled * w[i])) << row << " " << i;
      differs +=
          !sameFloat(problem->floats("out")[row * n + i], registered->floats("out")[row * n + i]);
    }
  }
  EXPECT_GT(differs, 0);
  expectInvariant(catalog, id);
  const std::string text = refusalOf(tree, catalog,
                                     {"rms_norm",
                                      "blk.0.attn_norm",
                                      "decode",
                                      "",
                                      "cpu",
                                      {{"input", "f32"}, {"weight", "f32"}, {"out", "f32"}},
                                      {{"vectors", 1}, {"n", n}},
                                      {},
                                      {"circuit.json", 14, 7}});
  EXPECT_EQ(text.find("circuit.json:14:7: error: no kernel provides 'rms_norm' for {input=f32, "
                      "weight=f32, out=f32, "),
            0u)
      << text;
  EXPECT_NE(text.find("contract=" + id), std::string::npos) << text;
  EXPECT_NE(text.find("nearest provider 'rms_norm_f32' differs in contract"), std::string::npos)
      << text;
}

TEST(C8_NewContract, ALinearOpInLanesRunsWithoutALineOfCode) {
  const std::string id = "linear_f32_lanes16_v0";
  EditedTree tree;
  addContract(tree, "linear", "linear_f32_v0", id, {{"reduction", "sum_f32_fma_lanes16_tree"}});
  const Catalog catalog = tree.load();
  constexpr int64_t k = 83, n = 4;
  const auto problem = problemOf(catalog, id, {{"rows", 3}, {"k", k}, {"n", n}});
  for (int64_t row = 0; row < 3; ++row)
    for (int64_t column = 0; column < n; ++column) {
      const float sum = dotIn16Lanes(problem->floats("activation").data() + row * k,
                                     problem->floats("weight").data() + column * k, k);
      EXPECT_TRUE(sameFloat(problem->floats("out")[row * n + column],
                            sum + problem->floats("bias")[column]));
    }
  expectInvariant(catalog, id);
}

// Negative controls: the derivation follows the words, and so does the reference.
TEST(C8_NewContract, AWordThatSaysNothingIsSeenInTheDerivationAndInTheBits) {
  const std::string id = "rms_norm_f32_vendor_v0";
  EditedTree tree;
  addContract(tree, "rms_norm", "rms_norm_f32_lanes64_v0", id,
              {{"sum_of_squares", "implementation_defined"}});
  const Catalog catalog = tree.load();
  const ContractInvariance derived = deriveInvariance(catalog, catalog.contracts().at(id));
  for (const std::string &dimension : catalog.invariance().dimensionNames())
    EXPECT_FALSE(derived.holds(dimension)) << dimension;
  const Dimensions shape{{"rows", 40}, {"vectors", 1}, {"n", 150}};
  const auto one = problemOf(catalog, id, shape), other = problemOf(catalog, id, shape);
  other->call.schedule.workers = 7;
  other->evaluate();
  int differs = 0;
  for (size_t i = 0; i < one->floats("out").size(); ++i)
    differs += !sameFloat(one->floats("out")[i], other->floats("out")[i]);
  EXPECT_GT(differs, 0);
}

TEST(C8_NewContract, AnUnknownWordIsRefusedBeforeAnythingRuns) {
  EditedTree tree;
  addContract(tree, "rms_norm", "rms_norm_f32_lanes64_v0", "rms_norm_f32_fast_v0",
              {{"sum_of_squares", "fast"}});
  EXPECT_NE(tree.fault().find("'fast' is not a reduction id: an id names a complete semantic "
                              "profile [E302]"),
            std::string::npos)
      << tree.fault();
}

} // namespace
} // namespace writ::test
