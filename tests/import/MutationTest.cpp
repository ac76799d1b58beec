//===- MutationTest.cpp - spoilt model files are refused, never crash -----===//
//
// The libFuzzer targets in tests/fuzz search further; these runs are the same on every machine.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/Inspect.h"
#include "tests/import/GgufBuilder.h"
#include "tests/import/Xorshift.h"
#include "tests/mutation/Memory.h"
#include "tests/support/Expect.h"

namespace writ {
namespace {

using test::bytesOf;
using test::forgetPeakKilobytes;
using test::GgufBuilder;
using test::kMemoryBudget;
using test::peakKilobytes;
using test::Xorshift;

constexpr int runs = 10'000;

/// Opens, and reads all that a model that opens gives. Whether it opened.
bool tryOpen(const std::string &file, const char *name) {
  try {
    auto model = openModelBytes(bytesOf(file), name);
    inspectText(*model);
    uint64_t sum = 0;
    for (const TensorInfo &info : model->tensors()) {
      std::span<const std::byte> bytes = model->bytes(info);
      if (!bytes.empty())
        sum += static_cast<uint64_t>(bytes.front()) + static_cast<uint64_t>(bytes.back());
    }
    return sum != UINT64_MAX;
  } catch (const Error &error) {
    EXPECT_TRUE(std::string(error.what()).starts_with(std::string(name) + ": error: "))
        << error.what();
    return false;
  }
}

TEST(Mutation, F12_SpoiltGgufFilesAreRefusedInBoundedMemory) {
  GgufBuilder builder;
  builder.add("general.architecture", "llama").add("general.alignment", uint32_t{32});
  builder.add("flag", true).add("scale", 0.5f).add("wide", 0.25).add("count", int64_t{-3});
  builder.add("tokens", std::vector<std::string>{"a", "bc", "<s>"});
  builder.add("scores", std::vector<float>{1, 2, 3}).add("bits", std::vector<bool>{true, false});
  builder.tensor("w", "q4_1", {4, 64}).tensor("e", "q6_k", {2, 256}).tensor("n", "f32", {8});
  const std::string good = builder.build();
  ASSERT_TRUE(tryOpen(good, "m.gguf"));
  size_t header = builder.place("data");

  int64_t before = forgetPeakKilobytes();
  Xorshift random(18);
  int opened = 0;
  for (int run = 0; run < runs; ++run)
    opened += tryOpen(random.mutate(good, header), "m.gguf");
  EXPECT_LT(peakKilobytes() - before, kMemoryBudget);
  // A negative control: some mutations are harmless, most are not.
  EXPECT_GT(opened, runs / 100);
  EXPECT_LT(opened, runs * 9 / 10);
}

TEST(Mutation, F12_SpoiltSafetensorsFilesAreRefusedInBoundedMemory) {
  std::string header =
      R"({"__metadata__":{"a":"b"},"t":{"dtype":"F32","shape":[2,1],)"
      R"("data_offsets":[0,8]},"u":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}})";
  const std::string good =
      GgufBuilder::raw(uint64_t{header.size()}) + header + std::string(11, 'x');
  ASSERT_TRUE(tryOpen(good, "m.safetensors"));

  int64_t before = forgetPeakKilobytes();
  Xorshift random(81);
  int opened = 0;
  for (int run = 0; run < runs; ++run)
    opened += tryOpen(random.mutate(good, 8 + header.size()), "m.safetensors");
  EXPECT_LT(peakKilobytes() - before, kMemoryBudget);
  EXPECT_GT(opened, 0);
  EXPECT_LT(opened, runs / 2);
}

} // namespace
} // namespace writ
