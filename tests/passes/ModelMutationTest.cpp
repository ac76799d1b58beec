//===- ModelMutationTest.cpp - spoilt models are refused, never crash -----===//
//
// Complete models with a few bytes or a whole metadata value changed, through everything that
// `writ compile` does before it writes: reading, circuit, tokenizer, planning.
// tests/import/MutationTest.cpp is about the readers alone.
//
//===----------------------------------------------------------------------===//
#include "tests/emit/Example.h"
#include "tests/import/ReadModel.h"
#include "tests/import/SmallModels.h"
#include "tests/import/Xorshift.h"
#include "tests/mutation/Memory.h"

#include <gtest/gtest.h>
#include <limits>

namespace writ::test {
namespace {

/// A scalar of one of the format's types, or a string: extreme, or a size that something may have.
std::pair<uint32_t, std::string> otherScalar(Xorshift &random) {
  static constexpr uint64_t integers[] = {
      0,          1,          2,          3,          5,          7,        8,
      16,         31,         32,         33,         64,         100,      255,
      256,        4096,       4097,       65536,      1u << 20,   1u << 24, 0x7fffffff,
      0x80000000, 0xffffffff, 1ull << 40, 1ull << 62, 1ull << 63, ~0ull};
  static constexpr double numbers[] = {std::numeric_limits<double>::quiet_NaN(),
                                       std::numeric_limits<double>::infinity(),
                                       -1.0,
                                       0.0,
                                       -0.0,
                                       1e-45,
                                       1e38,
                                       1.0,
                                       2.5,
                                       10000.0};
  static const std::string strings[] = {"",
                                        "none",
                                        "llama",
                                        "gpt2",
                                        "gemma3",
                                        "smollm",
                                        "\xc3\x28",
                                        std::string(1, '\0'),
                                        std::string(5000, 'a')};
  const uint64_t integer = integers[random.below(std::size(integers))];
  const double number = numbers[random.below(std::size(numbers))];
  switch (random.below(7)) {
  case 0:
    return {10, GgufBuilder::raw(integer)};
  case 1:
    return {5, GgufBuilder::raw(static_cast<int32_t>(integer))};
  case 2:
    return {6, GgufBuilder::raw(static_cast<float>(number))};
  case 3:
    return {12, GgufBuilder::raw(number)};
  case 4:
    return {7, GgufBuilder::raw(static_cast<uint8_t>(random.below(2)))};
  case 5:
    return {8, GgufBuilder::withLength(strings[random.below(std::size(strings))])};
  default:
    return {4, GgufBuilder::raw(static_cast<uint32_t>(integer))};
  }
}

/// One or two metadata values replaced, exchanged for another's, or left out.
std::string otherValues(GgufBuilder builder, Xorshift &random) {
  for (uint64_t count = 1 + random.below(2); count != 0; --count) {
    const size_t entry = random.below(builder.entryCount());
    switch (random.below(8)) {
    case 0:
      builder.copyValue(random.below(builder.entryCount()), entry);
      break;
    case 1:
      builder.removeEntry(entry);
      break;
    case 2: { // an array, which may be as long as the vocabulary
      auto [type, element] = otherScalar(random);
      const uint64_t length = random.below(10);
      std::string bytes = GgufBuilder::raw(type) + GgufBuilder::raw(length);
      for (uint64_t i = 0; i < length; ++i)
        bytes += element;
      builder.replaceValue(entry, 9, bytes);
      break;
    }
    default: {
      auto [type, bytes] = otherScalar(random);
      builder.replaceValue(entry, type, bytes);
    }
    }
  }
  return builder.build();
}

/// Everything up to what is called; "" where it is planned.
std::string plan(const CircuitInstance &instance, const Catalog &catalog) {
  return refusalOf([&] {
    Compilation compilation;
    compilation.buildRequirements(instance, catalog, catalog.profiles().at("portable"));
    compilation.run(catalog);
  });
}

void spoil(GgufBuilder builder) {
  constexpr int runs = 5'000;
  const std::string name = "small.gguf";
  const Catalog catalog = repositoryCatalog(WRIT_SOURCE_DIR);
  const std::string good = builder.build();
  const size_t header = builder.place("data");
  CircuitInstance instance;
  const Refusals none = readModel(bytesOf(good), name, catalog, &instance);
  ASSERT_EQ(none.file, "");
  ASSERT_EQ(none.circuit, "");
  ASSERT_EQ(none.tokenizer, "");
  ASSERT_EQ(plan(instance, catalog), "");

  const int64_t before = forgetPeakKilobytes();
  Xorshift random(44);
  int bound = 0, tokenized = 0, planned = 0;
  for (int run = 0; run < runs; ++run) {
    const std::string file = run % 2 ? otherValues(builder, random) : random.mutate(good, header);
    const Refusals refusals = readModel(bytesOf(file), name, catalog, &instance);
    for (const std::string &refusal :
         {refusals.file, refusals.circuit, refusals.tokenizer, refusals.chat})
      EXPECT_TRUE(isPlaced(refusal, name, catalog)) << refusal;
    if (!refusals.file.empty())
      continue;
    tokenized += refusals.tokenizer.empty();
    if (!refusals.circuit.empty() || ++bound % 10 != 0) // a plan takes long
      continue;
    const std::string refusal = plan(instance, catalog);
    EXPECT_TRUE(refusal.empty() || refusal.find(" [E") != std::string::npos) << refusal;
    planned += refusal.empty();
  }
  EXPECT_LT(peakKilobytes() - before, kMemoryBudget);
  // A negative control: some mutations are harmless, most are not.
  EXPECT_GT(bound, runs / 20);
  EXPECT_LT(bound, runs / 2);
  EXPECT_GT(tokenized, runs / 20);
  EXPECT_GT(planned, 0);
  testing::Test::RecordProperty("bound", bound);
  testing::Test::RecordProperty("tokenized", tokenized);
  testing::Test::RecordProperty("planned", planned);
}

TEST(ModelMutation, F12_SpoiltModelsOfOneKindOfLayerAreRefusedInBoundedMemory) {
  spoil(smallLlama());
}

TEST(ModelMutation, F12_SpoiltModelsOfTwoKindsOfLayersAreRefusedInBoundedMemory) {
  spoil(smallGemma());
}

} // namespace
} // namespace writ::test
