//===- ExampleTest.cpp - the emitted example, called ----------------------===//
//
// The committed example is linked with the kernels' declarations and a writ_launch that notes each
// call instead of running it.
//
//===----------------------------------------------------------------------===//
#include "tests/emit/Example.h"

#include "compiler/Support/Digest.h"
#include "writ/model_abi.h"

#include <cstring>
#include <gtest/gtest.h>

namespace {

struct Launched {
  uint32_t call;
  const writ_provider *provider;
  std::vector<uint64_t> slots;
  int64_t extent, grain;
};
std::vector<Launched> launched;

} // namespace

extern "C" void writ_launch(const writ_step *step, uint32_t call, const writ_provider *provider,
                            const void *args, int64_t extent, int64_t grain) {
  // The slots of an argument block are 8 bytes each; the model says how many.
  const auto &model = *static_cast<const writ::CallModel *>(step->trace_user);
  const size_t prefill = model.prefill.size();
  const writ::Call &made = call < prefill ? model.prefill[call] : model.decode[call - prefill];
  std::vector<uint64_t> slots(made.arguments.size());
  std::memcpy(slots.data(), args, slots.size() * 8);
  launched.push_back({call, provider, slots, extent, grain});
}

extern "C" void writ_launch_merged(const writ_step *step, uint32_t call,
                                   const writ_provider *provider, const void *args, int64_t extent,
                                   int64_t grain, int64_t, const writ_body *, int64_t) {
  writ_launch(step, call, provider, args, extent, grain);
}

namespace writ::test {
namespace {

class EmittedExample : public testing::Test {
protected:
  void SetUp() override {
    compilation = compileTiny(repositoryCatalog(WRIT_SOURCE_DIR), "portable");
    model = compilation.callModel();
    rows = {5, token, position, sequence, 2, outputRow};
    step = {&rows,           &kv,     weights.data(), rowArena.data(), outputArena.data(), 8, 4,
            WRIT_ISA_SCALAR, nullptr, nullptr,        &model};
    launched.clear();
  }

  /// What a slot must hold.
  uint64_t expected(const CallArgument &argument) const {
    auto address = [](const void *p) { return uint64_t(reinterpret_cast<uintptr_t>(p)); };
    if (auto buffer = std::get_if<CallBuffer>(&argument.value))
      return buffer->arena == "rows"
                 ? address(rowArena.data() + buffer->offset * step.max_rows)
                 : address(outputArena.data() + buffer->offset * step.max_outputs);
    if (auto weight = std::get_if<CallWeight>(&argument.value))
      return address(weights.data() + weight->offset);
    if (std::get_if<CallKv>(&argument.value))
      return address(&kv);
    if (auto layer = std::get_if<CallKvLayer>(&argument.value))
      return uint64_t(layer->index);
    if (auto integer = std::get_if<int64_t>(&argument.value))
      return uint64_t(*integer);
    if (auto number = std::get_if<float>(&argument.value)) {
      uint32_t bits;
      std::memcpy(&bits, number, 4);
      return bits;
    }
    if (auto field = std::get_if<CallRows>(&argument.value)) {
      if (field->field == "count")
        return 5;
      if (field->field == "outputs")
        return 2;
      return address(field->field == "token"      ? token
                     : field->field == "position" ? position
                     : field->field == "sequence" ? sequence
                                                  : outputRow);
    }
    return 0;
  }

  void check(const std::vector<Call> &calls, uint32_t base) {
    ASSERT_EQ(launched.size(), calls.size());
    for (size_t i = 0; i < calls.size(); ++i) {
      EXPECT_EQ(launched[i].call, base + i);
      EXPECT_EQ(launched[i].provider->id, calls[i].provider);
      EXPECT_STREQ(writ_model()->calls[base + i].op, calls[i].op.c_str());
      EXPECT_STREQ(writ_model()->calls[base + i].provider, launched[i].provider->id);
      EXPECT_STREQ(writ_model()->calls[base + i].contract, calls[i].contract.c_str());
      EXPECT_STREQ(writ_model()->calls[base + i].family, calls[i].family.c_str());
      for (size_t a = 0; a < calls[i].arguments.size(); ++a) {
        uint64_t mask = calls[i].arguments[a].type == "f32" ? 0xffffffffu : ~uint64_t(0);
        EXPECT_EQ(launched[i].slots[a] & mask, expected(calls[i].arguments[a]))
            << calls[i].op << "." << calls[i].arguments[a].name;
      }
    }
  }

  Compilation compilation;
  CallModel model;
  int32_t token[5] = {}, position[5] = {}, sequence[5] = {}, outputRow[2] = {};
  writ_rows rows;
  writ_kv_view kv = {};
  std::vector<std::byte> weights = std::vector<std::byte>(64), rowArena = weights,
                         outputArena = weights;
  writ_step step;
};

TEST_F(EmittedExample, F7_PrefillPassesEveryArgumentOfCallIr) {
  writ_model()->prefill(&step);
  check(model.prefill, 0);
}

TEST_F(EmittedExample, F7_DecodePassesEveryArgumentOfCallIr) {
  writ_model()->decode(&step);
  check(model.decode, uint32_t(model.prefill.size()));
}

TEST_F(EmittedExample, DescriptorSaysWhatCallIrSays) {
  const writ_model_desc &desc = *writ_model();
  EXPECT_EQ(desc.abi, uint32_t(WRIT_MODEL_ABI));
  EXPECT_EQ(desc.production, 1u);
  EXPECT_EQ(desc.name, model.name);
  EXPECT_EQ(desc.circuit, model.circuit);
  EXPECT_EQ(desc.profile, model.profile);
  EXPECT_EQ(desc.resolution_sha256, compilation.resolutionDigest());
  EXPECT_EQ(desc.call_sha256, sha256(compilation.text()));
  EXPECT_STREQ(desc.model_sha256, "") << "the example has no model file";
  EXPECT_EQ(desc.circuit_sha256, model.inputs.at("circuit"));
  EXPECT_EQ(desc.profile_sha256, model.inputs.at("profile"));
  EXPECT_EQ(desc.vocabulary, model.vocabulary);
  EXPECT_EQ(desc.context_length, 128);
  EXPECT_EQ(desc.row_arena_bytes, model.rowArenaBytes);
  EXPECT_EQ(desc.output_arena_bytes, model.outputArenaBytes);
  EXPECT_EQ(desc.logits_offset, model.logitsOffset);
  EXPECT_EQ(desc.weights_bytes, model.weightsBytes);
  ASSERT_EQ(desc.kv_group_count, 1u);
  EXPECT_STREQ(desc.kv_groups[0].storage, "f16");
  EXPECT_EQ(desc.kv_groups[0].layers, 2);
  EXPECT_EQ(desc.kv_groups[0].kv_heads, 1);
  EXPECT_EQ(desc.kv_groups[0].head_dim, 32);
  EXPECT_EQ(desc.kv_groups[0].row_bytes, 64);
  EXPECT_EQ(desc.call_count, model.prefill.size() + model.decode.size());
  EXPECT_EQ(desc.phases_alike, 1u);
  ASSERT_NE(desc.sample, nullptr);
  ASSERT_NE(desc.log_probability, nullptr);
  for (const HostOp &op : model.hostOps)
    EXPECT_EQ((op.family == "sample" ? desc.sample : desc.log_probability)->id, op.provider);
}

} // namespace
} // namespace writ::test
