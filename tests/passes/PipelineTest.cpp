//===- PipelineTest.cpp - the compiler as the driver uses it --------------===//
#include "tests/emit/Example.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace writ::test {
namespace {

const std::string kRoot = WRIT_SOURCE_DIR;

const Catalog &catalog() {
  static const Catalog read = repositoryCatalog(kRoot);
  return read;
}

const Profile &portable() {
  return catalog().profiles().at("portable");
}

CircuitInstance tinyInstance(const TinyModel::Sizes &sizes = {}) {
  TinyModel model(sizes);
  return instantiate(catalog(), findCircuit(catalog(), model), model);
}

std::vector<Diagnostic> faultsOf(const std::function<void()> &run) {
  try {
    run();
  } catch (const Error &error) {
    return error.diagnostics();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

void expectRoundTrip(const Compilation &compilation) {
  Compilation again;
  again.parse(compilation.text(), "stage.mlir");
  EXPECT_EQ(again.text(), compilation.text());
}

TEST(Pipeline, C4_EveryStageRoundTripsAndKeepsTheDigest) {
  Compilation compilation;
  compilation.buildRequirements(tinyInstance(), catalog(), portable());
  expectRoundTrip(compilation);
  compilation.resolve(catalog());
  expectRoundTrip(compilation);
  const std::string digest = compilation.resolutionDigest();
  EXPECT_EQ(digest.size(), 64u);
  compilation.buildGraph();
  expectRoundTrip(compilation);
  EXPECT_EQ(compilation.resolutionDigest(), digest);
  compilation.lower();
  expectRoundTrip(compilation);
  EXPECT_EQ(compilation.resolutionDigest(), digest);
  compilation.toCall();
  expectRoundTrip(compilation);
  EXPECT_EQ(compilation.resolutionDigest(), digest);
}

TEST(Pipeline, AStageThatWasReadBackContinuesToTheSameText) {
  Compilation whole, parts;
  whole.buildRequirements(tinyInstance(), catalog(), portable());
  auto reread = [&] {
    std::string text = parts.text();
    parts.parse(text, "stage.mlir");
  };
  parts.parse(whole.text(), "requirements.mlir");
  whole.run(catalog());
  parts.resolve(catalog());
  reread();
  parts.buildGraph();
  reread();
  parts.lower();
  reread();
  parts.toCall();
  EXPECT_EQ(parts.text(), whole.text());
}

// By itself, or as a part of a fusion.
TEST(Pipeline, C3_EachOpAndPhaseHasOneResolution) {
  Compilation compilation;
  const CircuitInstance instance = tinyInstance();
  compilation.buildRequirements(instance, catalog(), portable());
  compilation.resolve(catalog());
  for (const InstanceOp &op : instance.ops)
    for (const char *phase : {"prefill", "decode"})
      EXPECT_EQ(std::count_if(compilation.resolutions().begin(), compilation.resolutions().end(),
                              [&](const ResolvedRequirement &resolved) {
                                const Requirement &required = resolved.requirement;
                                return (required.name == op.name ||
                                        std::find(required.parts.begin(), required.parts.end(),
                                                  op.name) != required.parts.end()) &&
                                       required.phase == phase;
                              }),
                1)
          << op.name;
  for (const InstanceOp &op : instance.hostOps)
    EXPECT_EQ(std::count_if(compilation.resolutions().begin(), compilation.resolutions().end(),
                            [&](const ResolvedRequirement &resolved) {
                              return resolved.requirement.name == op.name &&
                                     resolved.requirement.phase == "sample";
                            }),
              1);
}

TEST(Pipeline, RequirementsStandWhereTheCircuitHasThem) {
  Compilation compilation;
  const CircuitInstance instance = tinyInstance();
  compilation.buildRequirements(instance, catalog(), portable());
  compilation.resolve(catalog());
  const ResolvedRequirement &first = compilation.resolutions().front();
  EXPECT_EQ(first.requirement.location, instance.ops.front().location);
  EXPECT_EQ(first.resolution,
            resolve(catalog(), first.requirement)); // the table holds all that was decided
}

/// By itself, or as the last part of a fusion.
bool makesCodes(const Call &call) {
  const std::vector<FamilyPart> &parts = catalog().families().at(call.family).parts;
  return (parts.empty() ? call.family : parts.back().family) == "quantize_activation";
}

TEST(Pipeline, CodesAreMadeOnceForEachValue) {
  const CallModel model = compileTiny(catalog(), "portable").callModel();
  std::map<std::string, int> made;
  for (const Call &call : model.prefill)
    if (makesCodes(call))
      ++made[call.op];
  // Per layer: attention norm, attention, feed-forward norm, gate; then the output norm.
  EXPECT_EQ(made.size(), 9u);
  for (const auto &[name, count] : made)
    EXPECT_EQ(count, 1) << name;
}

TEST(Pipeline, TheF32ProfileMakesNoCodes) {
  for (const Call &call : compileTiny(catalog(), "f32").callModel().prefill)
    EXPECT_FALSE(makesCodes(call)) << call.op;
}

TEST(Pipeline, ArenasDoNotGrowWithLayers) {
  TinyModel::Sizes deep;
  deep.layers = 7;
  const CallModel two = compileTiny(catalog(), "portable").callModel();
  const CallModel seven = compileTiny(catalog(), "portable", TinyModel(deep)).callModel();
  EXPECT_EQ(two.rowArenaBytes, seven.rowArenaBytes);
  EXPECT_EQ(two.outputArenaBytes, seven.outputArenaBytes);
  EXPECT_EQ(seven.kvBytesPerToken, 7 * 2 * 1 * 32 * 2);
}

TEST(Pipeline, C3_E101_NoProviderIsReportedOnceAtItsPlaceInTheCircuit) {
  TinyModel::Sizes sizes;
  sizes.heads = 8; // heads of 8 elements: no attention kernel takes them
  const CircuitInstance instance = tinyInstance(sizes);
  Compilation compilation;
  compilation.buildRequirements(instance, catalog(), portable());
  const std::vector<Diagnostic> faults = faultsOf([&] { compilation.resolve(catalog()); });
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].code, "E101");
  EXPECT_TRUE(faults[0].message.starts_with("no kernel provides 'attention' for {q=f32, kv=f16"))
      << faults[0].message;
  EXPECT_EQ(faults[0].location.file, kRoot + "/circuits/llama.json");
  const auto op = std::find_if(instance.ops.begin(), instance.ops.end(),
                               [](const InstanceOp &o) { return o.op == "attention"; });
  EXPECT_EQ(faults[0].location, op->location);
  ASSERT_GE(faults[0].notes.size(), 2u);
  EXPECT_EQ(faults[0].notes.back().message,
            "add a provider or change the circuit; there is no fallback");
  EXPECT_TRUE(faults[0].notes[0].location.file.starts_with(kRoot + "/kernel_maps/attention/"));
}

TEST(Pipeline, E111_AStorageWithoutARuleIsReportedOnce) {
  TinyModel::Sizes sizes;
  sizes.width = 256;
  sizes.ffn = 256;
  sizes.storage = [](int64_t) { return std::string("q3_k"); };
  Compilation compilation;
  const std::vector<Diagnostic> faults =
      faultsOf([&] { compilation.buildRequirements(tinyInstance(sizes), catalog(), portable()); });
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].code, "E111");
}

TEST(Pipeline, E202_AnInputThatNothingMakes) {
  CircuitInstance instance = tinyInstance();
  for (InstanceOp &op : instance.ops)
    if (op.op == "rope")
      op.inputs["input"] = "nowhere";
  Compilation compilation;
  const std::vector<Diagnostic> faults =
      faultsOf([&] { compilation.buildRequirements(instance, catalog(), portable()); });
  ASSERT_FALSE(faults.empty());
  EXPECT_EQ(faults[0].code, "E202");
  EXPECT_EQ(faults[0].message,
            "'blk.0.rope_q' reads 'nowhere' in prefill, but no op before it makes that");
  const auto op = std::find_if(instance.ops.begin(), instance.ops.end(),
                               [](const InstanceOp &o) { return o.op == "rope"; });
  EXPECT_EQ(faults[0].location, op->location);
}

TEST(Pipeline, C11_CodesAreMadeFromFloatsAlone) {
  // A linear that wants codes may not take another storage as it is.
  CircuitInstance instance = tinyInstance();
  for (InstanceOp &op : instance.ops)
    if (op.name == "blk.0.ffn_norm")
      op.inputs["input"] = "blk.0.attn_norm.i8_b32_sf32";
  Compilation compilation;
  const std::vector<Diagnostic> faults =
      faultsOf([&] { compilation.buildRequirements(instance, catalog(), portable()); });
  ASSERT_FALSE(faults.empty());
}

TEST(Pipeline, E203_TextThatIsNoModule) {
  Compilation compilation;
  const std::vector<Diagnostic> faults =
      faultsOf([&] { compilation.parse("module {\n  graph.model\n}", "broken.mlir"); });
  ASSERT_FALSE(faults.empty());
  EXPECT_EQ(faults[0].code, "E203");
  EXPECT_EQ(faults[0].message, "expected attribute value");
  EXPECT_EQ(faults[0].location.file, "broken.mlir");
  EXPECT_EQ(faults[0].location.line, 2u);
}

TEST(Pipeline, E205_StagesOutOfOrder) {
  Compilation compilation;
  compilation.buildRequirements(tinyInstance(), catalog(), portable());
  EXPECT_EQ(faultsOf([&] { compilation.buildGraph(); })[0].code, "E205");
  EXPECT_EQ(faultsOf([&] { compilation.lower(); })[0].code, "E205");
  EXPECT_EQ(faultsOf([&] { compilation.toCall(); })[0].code, "E205");
}

TEST(Pipeline, E207_AWeightThatThePackerRefuses) {
  Compilation compilation;
  compilation.buildRequirements(tinyInstance(), catalog(), portable());
  compilation.resolve(catalog());
  compilation.buildGraph();
  const std::vector<Diagnostic> faults = faultsOf([&] {
    compilation.lower(
        [](std::string_view, std::string_view, int64_t, int64_t) { return int64_t(-1); });
  });
  ASSERT_FALSE(faults.empty());
  EXPECT_EQ(faults[0].code, "E207");
}

} // namespace
} // namespace writ::test
