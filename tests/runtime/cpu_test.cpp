//===- cpu_test.cpp - instruction sets and the floating-point environment --===//

#include "strange_environment.h"
#include "support/cpu.h"
#include "support/float_environment.h"

#include <gtest/gtest.h>

using namespace writ;

namespace {

constexpr CpuWords kEverything{~0u, ~0u, ~0u, ~uint64_t(0), ~0u};

TEST(Cpu, N18_AllPartsOfASetAreAskedFor) {
  EXPECT_EQ(isaFromCpuWords({}), WRIT_ISA_SCALAR);
  EXPECT_EQ(isaFromCpuWords(kEverything), WRIT_ISA_AVX512BF16);
  // Every bit whose absence must lower the answer, one at a time.
  for (const int bit : {12, 27, 28, 29}) {
    CpuWords words = kEverything;
    words.leaf1Ecx &= ~(1u << bit);
    EXPECT_EQ(isaFromCpuWords(words), WRIT_ISA_SCALAR) << bit;
  }
  for (const int bit : {5, 8}) {
    CpuWords words = kEverything;
    words.leaf7Ebx &= ~(1u << bit);
    EXPECT_EQ(isaFromCpuWords(words), WRIT_ISA_SCALAR) << bit;
  }
  for (const int bit : {16, 17, 30, 31}) {
    CpuWords words = kEverything;
    words.leaf7Ebx &= ~(1u << bit);
    EXPECT_EQ(isaFromCpuWords(words), WRIT_ISA_AVX2) << bit;
  }
  CpuWords words = kEverything;
  words.leaf7Ecx &= ~(1u << 11);
  EXPECT_EQ(isaFromCpuWords(words), WRIT_ISA_AVX2);
  words = kEverything;
  words.leaf7Sub1Eax &= ~(1u << 5);
  EXPECT_EQ(isaFromCpuWords(words), WRIT_ISA_AVX512);
}

TEST(Cpu, N18_RegistersThatTheSystemDoesNotSaveDoNotCount) {
  for (const int bit : {1, 2}) {
    CpuWords words = kEverything;
    words.xcr0 &= ~(uint64_t(1) << bit);
    EXPECT_EQ(isaFromCpuWords(words), WRIT_ISA_SCALAR) << bit;
  }
  for (const int bit : {5, 6, 7}) {
    CpuWords words = kEverything;
    words.xcr0 &= ~(uint64_t(1) << bit);
    EXPECT_EQ(isaFromCpuWords(words), WRIT_ISA_AVX2) << bit;
  }
}

TEST(Cpu, N18_DotProductsAreAskedForOnAArch64) {
  EXPECT_EQ(isaFromHardwareCapabilities(0), WRIT_ISA_NEON);
  EXPECT_EQ(isaFromHardwareCapabilities(~(uint64_t(1) << 20)), WRIT_ISA_NEON);
  EXPECT_EQ(isaFromHardwareCapabilities(uint64_t(1) << 20), WRIT_ISA_DOTPROD);
}

// A set of another architecture is never supported, whatever its number.
TEST(Cpu, N18_SetsOfOneArchitectureDoNotCountForAnother) {
  const auto supported = [](writ_isa best) {
    std::vector<int> sets;
    for (int isa = 0; isa < WRIT_ISA_COUNT; ++isa)
      if (supportsIsa(writ_isa(isa), best))
        sets.push_back(isa);
    return sets;
  };
  using Sets = std::vector<int>;
  EXPECT_EQ(supported(WRIT_ISA_SCALAR), Sets{WRIT_ISA_SCALAR});
  EXPECT_EQ(supported(WRIT_ISA_AVX2), (Sets{WRIT_ISA_SCALAR, WRIT_ISA_AVX2}));
  EXPECT_EQ(supported(WRIT_ISA_AVX512), (Sets{WRIT_ISA_SCALAR, WRIT_ISA_AVX2, WRIT_ISA_AVX512}));
  EXPECT_EQ(supported(WRIT_ISA_AVX512BF16),
            (Sets{WRIT_ISA_SCALAR, WRIT_ISA_AVX2, WRIT_ISA_AVX512, WRIT_ISA_AVX512BF16}));
  EXPECT_EQ(supported(WRIT_ISA_NEON), (Sets{WRIT_ISA_SCALAR, WRIT_ISA_NEON}));
  EXPECT_EQ(supported(WRIT_ISA_DOTPROD), (Sets{WRIT_ISA_SCALAR, WRIT_ISA_NEON, WRIT_ISA_DOTPROD}));
}

#if defined(__x86_64__)
TEST(Cpu, N18_AgreesWithTheCompilersOwnDetection) {
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi2");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
  const writ_isa best512 =
      __builtin_cpu_supports("avx512bf16") ? WRIT_ISA_AVX512BF16 : WRIT_ISA_AVX512;
  EXPECT_EQ(bestIsa(), avx512 ? best512 : avx2 ? WRIT_ISA_AVX2 : WRIT_ISA_SCALAR);
}
#endif

float third() {
  volatile float one = 1, three = 3;
  return one / three;
}
float subnormal() {
  volatile float a = 1e-30f, b = 1e-9f;
  return a * b;
}

TEST(FloatEnvironment, S1_IsSetAndTheFoundOneIsRestored) {
  const uint64_t found = FloatEnvironment::read();
  const uint64_t strange = FloatEnvironment::kPortable | test::kStrangeBits;
  FloatEnvironment::write(strange);
  EXPECT_EQ(subnormal(), 0); // the control: the environment matters
  const float truncated = third();
  {
    const FloatEnvironment environment;
    EXPECT_EQ(subnormal(), 0x1.5c73p-130f) << "subnormals are kept";
    EXPECT_NE(third(), truncated);
    EXPECT_EQ(third(), 0x1.555556p-2f);
  }
  EXPECT_EQ(FloatEnvironment::read() & ~uint64_t(0x3f), strange & ~uint64_t(0x3f));
  FloatEnvironment::write(found);
}

TEST(Cpu, S1_AtLeastOneProcessor) {
  EXPECT_GE(processorCount(), 1);
}

} // namespace
