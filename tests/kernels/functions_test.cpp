// The named functions: vector forms equal the scalar ones, and exact points hold.
#include "runtime/kernels/cpu/convert.h"
#include "tests/kernels/kernel_case.h"
#include "writ/kernels/gelu_tanh_gate_f32.h"
#include "writ/kernels/silu_gate_f32.h"

#include <gtest/gtest.h>

#include <cmath>

namespace writ::test {
namespace {

TEST(Functions, ExactPoints) {
  EXPECT_EQ(expF32(0.0f), 1.0f);
  EXPECT_EQ(expF32(-0.0f), 1.0f);
  EXPECT_EQ(bitsOfFloat(expF32(-INFINITY)), 0u);
  EXPECT_EQ(expF32(INFINITY), INFINITY);
  EXPECT_EQ(expF32(89.0f), INFINITY);
  EXPECT_EQ(bitsOfFloat(expF32(-104.0f)), 0u);
  EXPECT_TRUE(std::isfinite(expF32(0x1.62e42ep+6f)));
  EXPECT_EQ(expF32(-103.0f), 0x1p-149f);
  EXPECT_TRUE(std::isnan(expF32(NAN)));
  EXPECT_EQ(bitsOfFloat(logF32(1.0f)), 0u);
  EXPECT_EQ(logF32(0.0f), -INFINITY);
  EXPECT_EQ(logF32(-0.0f), -INFINITY);
  EXPECT_EQ(logF32(INFINITY), INFINITY);
  EXPECT_TRUE(std::isnan(logF32(-1.0f)));
  EXPECT_TRUE(std::isnan(logF32(NAN)));
  double sine, cosine;
  sincosF64(0.0, &sine, &cosine);
  EXPECT_EQ(sine, 0.0);
  EXPECT_EQ(cosine, 1.0);
  sincosF64(0x1.1p+30, &sine, &cosine);
  EXPECT_TRUE(std::isnan(sine) && std::isnan(cosine));
}

TEST(Functions, HalvesRoundTripAndRoundOnce) {
  for (uint32_t half = 0; half < 0x10000; ++half) {
    const float wide = floatFromHalf(static_cast<uint16_t>(half));
    if (std::isnan(wide))
      EXPECT_TRUE(std::isnan(floatFromHalf(halfFromFloat(wide))));
    else
      ASSERT_EQ(halfFromFloat(wide), half);
  }
  EXPECT_EQ(halfFromFloat(65519.0f), 0x7bff);
  EXPECT_EQ(halfFromFloat(65520.0f), 0x7c00);
  EXPECT_EQ(halfFromFloat(0x1p-25f), 0);
  EXPECT_EQ(halfFromFloat(0x1.000002p-25f), 1);
  EXPECT_EQ(halfFromFloat(0x1.8p-24f), 2); // tie to even
}

// Both gates hold exp_f32_v0: over inputs a stride apart, each vector form gives the scalar bits.
template <typename Args, typename Threaded>
void expectVectorsEqualScalars(Threaded gateOf, float (*scalar)(float)) {
  constexpr uint64_t kStride = 1021;
  std::vector<float> gate, up, out;
  for (uint64_t bits = 0; bits < (1ull << 32); bits += kStride)
    gate.push_back(floatFromBits(static_cast<uint32_t>(bits)));
  up.assign(gate.size(), 1.0f);
  out.resize(gate.size());
  const Args args{gate.data(), up.data(), out.data(), 1, static_cast<int64_t>(gate.size())};
  for (int isa = WRIT_ISA_SCALAR; isa < WRIT_ISA_COUNT; ++isa) {
    if (!machineHas(static_cast<writ_isa>(isa)))
      continue;
    gateOf(args, static_cast<writ_isa>(isa));
    for (size_t i = 0; i < gate.size(); ++i) {
      const float expected = scalar(gate[i]);
      if (std::isnan(expected))
        ASSERT_TRUE(std::isnan(out[i])) << isaName(isa) << " " << gate[i];
      else
        ASSERT_EQ(bitsOfFloat(expected), bitsOfFloat(out[i])) << isaName(isa) << " " << gate[i];
    }
  }
}

TEST(Functions, VectorSiluEqualsTheScalarOne) {
  expectVectorsEqualScalars<silu_gate_f32_args>(
      [](const auto &args, writ_isa isa) { silu_gate_f32(args, isa); }, siluF32);
}

TEST(Functions, VectorGeluEqualsTheScalarOne) {
  expectVectorsEqualScalars<gelu_tanh_gate_f32_args>(
      [](const auto &args, writ_isa isa) { gelu_tanh_gate_f32(args, isa); }, geluTanhF32);
}

} // namespace
} // namespace writ::test
