//===- RopeScalingTest.cpp - scaled rotary frequencies of a model ---------===//
//
// What a model's metadata say of its rotary positions becomes constants that equal the reference's
// result for the contract of that scaling, bit for bit; what cannot be computed is refused.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/Circuit.h"
#include "compiler/Import/Constants.h"
#include "ir/Reference/Reference.h"
#include "tests/emit/Example.h"
#include "tests/import/ReadModel.h"
#include "tests/import/SmallModels.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>

namespace writ::test {
namespace {

constexpr int64_t kDims = detail::headDim;

nlohmann::json readJson(const std::string &path) {
  return nlohmann::json::parse(std::ifstream(WRIT_SOURCE_DIR "/contracts/" + path));
}

/// By the contract that the profile has for the scaling.
std::vector<double> referenceFrequencies(const RopeScaling &scaling, double base) {
  const nlohmann::json vocabulary = readJson("vocabulary.json"),
                       functions = readJson("functions.json"),
                       profile = readJson("profiles/portable.json");
  nlohmann::json contract;
  for (const auto &rule : profile["rules"])
    if (rule["op"] == "rope_frequencies" && rule["match"]["scaling"] == scaling.word)
      contract = readJson("rope_frequencies/" + rule["contract"].get<std::string>() + ".json");
  std::vector<double> result(kDims / 2);
  reference::Call call;
  call.contract = &contract;
  call.vocabulary = &vocabulary;
  call.functions = &functions;
  call.dimensions = {{"rope_dims", kDims}};
  call.attributes = {{"scaling", scaling.word}};
  call.numbers = {{"base", base},
                  {"factor", scaling.factor},
                  {"original_context", scaling.originalContext},
                  {"beta_fast", scaling.betaFast},
                  {"beta_slow", scaling.betaSlow}};
  std::vector<float> factors = scaling.factors;
  call.operands["out"] = {"f64", {kDims / 2}, std::as_writable_bytes(std::span(result))};
  if (!factors.empty())
    call.operands["factors"] = {"f32", {kDims / 2}, std::as_writable_bytes(std::span(factors))};
  reference::findReference("reference_rope_frequencies")(call);
  return result;
}

GgufBuilder llamaWithout(const std::string &key) {
  GgufBuilder builder = smallLlama();
  builder.removeEntry(builder.entryOf(key));
  return builder;
}

struct Bound {
  std::vector<double> frequencies;
  double scale = 0;
  std::string refusal;
};

Bound bind(GgufBuilder builder) {
  const Catalog catalog = repositoryCatalog(WRIT_SOURCE_DIR);
  const std::string file = builder.build();
  CircuitInstance instance;
  Bound bound;
  bound.refusal =
      readModel(std::as_bytes(std::span(file)), "scaled.gguf", catalog, &instance).circuit;
  for (const InstanceOp &op : instance.ops) {
    if (op.op == "rope_table")
      bound.frequencies = op.weights.at("frequencies").constant;
    if (op.op == "attention")
      bound.scale = op.numbers.at("scale");
  }
  return bound;
}

TEST(RopeScaling, C8_TheCompilersFrequenciesAreTheContracts) {
  for (const char *word : {"none", "linear", "ntk", "yarn", "llama3"})
    for (const bool divided : {false, true}) {
      RopeScaling scaling{word, 8, 8192, 4, 1, 1, {}};
      if (divided)
        for (int64_t i = 0; i < kDims / 2; ++i)
          scaling.factors.push_back(1 + 0.37f * static_cast<float>(i));
      for (const double base : {10000.0, 500000.0})
        EXPECT_EQ(ropeFrequencies(base, kDims, scaling), referenceFrequencies(scaling, base))
            << word << (divided ? " with factors" : "");
    }
  // A negative control: each word gives others.
  const RopeScaling none{"none", 8, 8192, 4, 1, 1, {}};
  for (const char *word : {"linear", "ntk", "yarn", "llama3"}) {
    RopeScaling scaling = none;
    scaling.word = word;
    EXPECT_NE(ropeFrequencies(10000, kDims, none), ropeFrequencies(10000, kDims, scaling)) << word;
  }
}

TEST(RopeScaling, C1_WithoutAWordTheFactorIsLinearAndOneChangesNothing) {
  const std::vector<double> plain = bind(smallLlama()).frequencies;
  ASSERT_EQ(plain.size(), size_t(kDims / 2));
  EXPECT_EQ(plain, ropeFrequencies(10000, kDims, {}));
  const std::string type = "llama.rope.scaling.type";
  EXPECT_EQ(bind(llamaWithout(type)).frequencies, plain);
  const std::vector<double> fourth =
      bind(llamaWithout(type).add("llama.rope.scaling.factor", 4.0f)).frequencies;
  ASSERT_EQ(fourth.size(), plain.size());
  for (size_t i = 0; i < plain.size(); ++i)
    EXPECT_EQ(fourth[i], plain[i] / 4) << "a power of two is exact";
  // The word decides: `none` has no factor.
  EXPECT_EQ(bind(smallLlama().add("llama.rope.scaling.factor", 4.0f)).frequencies, plain);
}

GgufBuilder yarnModel() {
  return llamaWithout("llama.rope.scaling.type")
      .add("llama.rope.scaling.type", "yarn")
      .add("llama.rope.scaling.factor", 4.0f)
      .add("llama.rope.scaling.original_context_length", uint32_t{4096})
      .add("llama.rope.scaling.finetuned", true);
}

TEST(RopeScaling, C8_YarnScalesFrequenciesAndScores) {
  const Bound bound = bind(yarnModel());
  EXPECT_EQ(bound.refusal, "");
  const RopeScaling scaling{"yarn", 4, 4096, 32, 1, 1, {}};
  EXPECT_EQ(bound.frequencies, referenceFrequencies(scaling, 10000));
  // The first pairs turn often in 4096 positions and stay; the last ones are interpolated.
  EXPECT_EQ(bound.frequencies.front(), 1);
  EXPECT_EQ(bound.frequencies.back(), ropeFrequencies(10000, kDims, {}).back() / 4);
  const double factor = 1 + std::log(4.0) / 10;
  EXPECT_NEAR(bound.scale, factor * factor / 4, 0x1p-24) << "head of 16";
  EXPECT_EQ(bind(smallLlama()).scale, 0.25);
  const double own = bind(yarnModel().add("llama.rope.scaling.attn_factor", 0.5f)).scale;
  EXPECT_NEAR(own, bound.scale / 4, 0x1p-26);
}

TEST(RopeScaling, C8_ATensorOfFactorsDividesTheFrequencies) {
  std::vector<float> factors;
  for (int64_t i = 0; i < kDims / 2; ++i)
    factors.push_back(i < 4 ? 1.0f : 8.0f);
  const auto model = [&](const char *storage, const std::vector<float> &values) {
    return smallLlama().tensor(
        "rope_freqs.weight", storage, {static_cast<int64_t>(values.size())},
        std::string(reinterpret_cast<const char *>(values.data()), values.size() * 4));
  };
  const Bound bound = bind(model("f32", factors));
  EXPECT_EQ(bound.refusal, "");
  const std::vector<double> plain = ropeFrequencies(10000, kDims, {});
  ASSERT_EQ(bound.frequencies.size(), plain.size());
  for (size_t i = 0; i < plain.size(); ++i)
    EXPECT_EQ(bound.frequencies[i], plain[i] / factors[i]);

  factors[2] = 0;
  EXPECT_EQ(bind(model("f32", factors)).refusal,
            "scaled.gguf: error: tensor 'rope_freqs.weight' holds 0, expected positive divisors of "
            "the rotary frequencies [E033]\n");
  factors.pop_back();
  EXPECT_EQ(bind(model("f32", factors)).refusal,
            "scaled.gguf: error: tensor 'rope_freqs.weight' is f32 [7], expected f32 [8]: one "
            "divisor for each rotary pair [E033]\n");
}

/// The first line of a refusal.
std::string firstLine(const std::string &text) {
  return text.substr(0, text.find('\n'));
}

TEST(RopeScaling, C1_E033_WhatIsNoScalingIsRefused) {
  const std::string type = "llama.rope.scaling.type";
  EXPECT_EQ(firstLine(bind(llamaWithout(type).add(type, "longrope")).refusal),
            "scaled.gguf: error: metadata key 'llama.rope.scaling.type' is 'longrope', expected "
            "'none', 'linear', 'yarn' [E033]");
  EXPECT_EQ(firstLine(bind(llamaWithout(type).add(type, uint32_t{3})).refusal),
            "scaled.gguf: error: metadata key 'llama.rope.scaling.type' is u32, expected 'none', "
            "'linear', 'yarn' [E033]");
  const std::string zero = bind(llamaWithout(type).add("llama.rope.scaling.factor", 0.0f)).refusal;
  EXPECT_NE(zero.find("the rotary scaling's factor is 0, expected a positive number [E033]"),
            std::string::npos)
      << zero;
}

TEST(RopeScaling, C1_E034_AFactorOfPartOfTheScoreIsRefused) {
  GgufBuilder builder = yarnModel();
  builder.replaceValue(builder.entryOf("llama.rope.dimension_count"), 4, GgufBuilder::raw(8u));
  EXPECT_EQ(firstLine(bind(builder).refusal),
            "scaled.gguf: error: rotary scaling 'yarn' multiplies what it rotates, 8 of the 16 "
            "elements of a head; this circuit computes only a factor of the whole score [E034]");
  // Without such a factor it is computed.
  GgufBuilder linear =
      llamaWithout("llama.rope.scaling.type").add("llama.rope.scaling.factor", 4.0f);
  linear.replaceValue(linear.entryOf("llama.rope.dimension_count"), 4, GgufBuilder::raw(8u));
  EXPECT_EQ(bind(linear).refusal, "");
}

} // namespace
} // namespace writ::test
