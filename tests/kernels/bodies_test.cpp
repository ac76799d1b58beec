// Bodies of one provider keep the same bits, whatever the instruction set and however the units are
// split. Each body is held against the scalar one, at random sizes and with values up to overflow.
// The reference judges no value here: tests/conformance/kernels_test.cpp holds every body of every
// instruction set against it, at chosen sizes.
#include "tests/kernels/kernel_case.h"

#include <gtest/gtest.h>

#include <cstring>

namespace writ::test {
namespace {

constexpr uint64_t kSeeds = 12;

class Bodies : public testing::TestWithParam<std::string> {};

void expectSame(const std::map<std::string, Bytes> &expected,
                const std::map<std::string, Bytes> &got, const std::string &where) {
  for (const auto &[name, bytes] : expected) {
    const Bytes &other = got.at(name);
    ASSERT_EQ(bytes.size(), other.size());
    if (bytes == other)
      continue;
    size_t at = 0;
    while (bytes[at] == other[at])
      ++at;
    at -= at % 4;
    uint32_t a = 0, b = 0;
    std::memcpy(&a, bytes.data() + at, std::min<size_t>(4, bytes.size() - at));
    std::memcpy(&b, other.data() + at, std::min<size_t>(4, bytes.size() - at));
    FAIL() << where << ": " << name << " differs at byte " << at << ": expected 0x" << std::hex << a
           << ", got 0x" << b;
  }
}

TEST_P(Bodies, EveryInstructionSetKeepsTheScalarBits) {
  const writ_provider *provider = writ_find_provider(GetParam().c_str());
  Random random(7);
  for (uint64_t seed = 0; seed < kSeeds; ++seed)
    for (const Values values : kAllValues) {
      const auto test = makeCase(GetParam(), values, seed);
      ASSERT_TRUE(test) << "no maker for the op of " << GetParam();
      const auto expected = run(*test, provider->bodies[WRIT_ISA_SCALAR], 1, random);
      for (int isa = WRIT_ISA_SCALAR + 1; isa < WRIT_ISA_COUNT; ++isa)
        if (provider->bodies[isa] && machineHas(static_cast<writ_isa>(isa)))
          expectSame(expected, run(*test, provider->bodies[isa], 1, random),
                     test->description + " " + isaName(isa));
      if (HasFatalFailure())
        return;
    }
}

TEST_P(Bodies, AnySplitOfTheUnitsKeepsTheBits) {
  const writ_provider *provider = writ_find_provider(GetParam().c_str());
  Random random(8);
  for (uint64_t seed = 100; seed < 100 + kSeeds; ++seed) {
    const auto test = makeCase(GetParam(), Values::ordinary, seed);
    ASSERT_TRUE(test);
    for (int isa = WRIT_ISA_SCALAR; isa < WRIT_ISA_COUNT; ++isa) {
      if (!provider->bodies[isa] || !machineHas(static_cast<writ_isa>(isa)))
        continue;
      const auto whole = run(*test, provider->bodies[isa], 1, random);
      for (const int pieces : {2, 3, 7})
        expectSame(whole, run(*test, provider->bodies[isa], pieces, random),
                   test->description + " " + isaName(isa) + " in pieces");
      if (HasFatalFailure())
        return;
    }
  }
}

TEST_P(Bodies, EveryByteOfTheOutputIsWritten) {
  const writ_provider *provider = writ_find_provider(GetParam().c_str());
  Random random(9);
  const auto test = makeCase(GetParam(), Values::ordinary, 3);
  ASSERT_TRUE(test);
  // Two runs over other bytes agree where the kernel wrote. The planes of a kernel with a result of
  // its own are what it reads; else it writes its rows of them.
  const bool writesPlanes = test->outputs.size() == 2 && test->outputs.contains("k_plane");
  std::map<std::string, Bytes> results[2];
  for (const int filler : {0, 1}) {
    for (auto &[name, output] : test->outputs)
      if (writesPlanes || !name.ends_with("_plane"))
        std::fill(output.start.begin(), output.start.end(), std::byte(filler ? 0x3C : 0xA5));
    results[filler] = run(*test, provider->bodies[0], 1, random);
  }
  if (!writesPlanes)
    return expectSame(results[0], results[1], test->description);
  for (const auto &[name, bytes] : results[0]) {
    int64_t written = 0;
    for (size_t i = 0; i < bytes.size(); ++i)
      written += bytes[i] == results[1].at(name)[i];
    EXPECT_EQ(written, test->integers.at("dim:rows") * test->kv.token_stride) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Bodies, testing::ValuesIn(providerIds()),
                         [](const auto &info) { return info.param; });

TEST(KernelTable, FindsEachProviderAndNoOther) {
  uint32_t count = 0;
  const writ_provider *const *providers = writ_providers(&count);
  ASSERT_GT(count, 0u);
  for (uint32_t i = 0; i < count; ++i) {
    EXPECT_EQ(writ_find_provider(providers[i]->id), providers[i]);
    EXPECT_EQ(std::strlen(providers[i]->source_sha256), 64u);
    EXPECT_NE(providers[i]->bodies[WRIT_ISA_SCALAR], nullptr) << providers[i]->id;
  }
  EXPECT_EQ(writ_find_provider(""), nullptr);
  EXPECT_EQ(writ_find_provider("linear"), nullptr);
  EXPECT_EQ(writ_find_provider("zzz"), nullptr);
}

// Negative control: the comparison above sees one changed bit.
TEST(KernelTable, AChangedBitIsSeen) {
  Random random(1);
  const auto test = makeCase("residual_f32", Values::ordinary, 5);
  const auto body = writ_find_provider("residual_f32")->bodies[0];
  const auto before = run(*test, body, 1, random);
  test->inputs["operand:a"][2] ^= std::byte{0x40};
  EXPECT_NE(before, run(*test, body, 1, random));
}

} // namespace
} // namespace writ::test
