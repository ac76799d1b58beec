// Compiled once for each instruction set, with the flags of its kernels (productionOf_ISA). A
// function has a scalar form, of math.h or functions_ggml.h, and the one of simd/ where a
// kernel uses vectors; a line each below.
#include "runtime/kernels/cpu/functions_ggml.h"
#include "runtime/kernels/cpu/simd/activations.h"
#include "runtime/kernels/cpu/simd/soft_cap.h"
#include "tests/functions/Production.h"

namespace {

template <float function(float)> void scalarForm(const float *x, float *out, size_t count) {
  for (size_t i = 0; i < count; ++i)
    out[i] = function(x[i]);
}

template <Lanes function(Lanes)> void lanesForm(const float *x, float *out, size_t count) {
  for (size_t i = 0; i < count; i += kLanes)
    store(function(load(x + i)), out + i);
}

#define WRIT_TEXT_(name) #name
#define WRIT_TEXT(name) WRIT_TEXT_(name)
#define WRIT_SCALAR(name, function)                                                                \
  { #name, WRIT_TEXT(WRIT_ISA_NAME), scalarForm < function> }
#define WRIT_LANES(name, function)                                                                 \
  { #name, WRIT_TEXT(WRIT_ISA_NAME) " lanes", lanesForm < function> }

constexpr writ::test::Production kTable[] = {
    WRIT_SCALAR(exp_f32_v0, expF32),
    WRIT_LANES(exp_f32_v0, expLanes),
    WRIT_SCALAR(log_f32_v0, logF32),
    WRIT_SCALAR(silu_f32_v0, siluF32),
    WRIT_LANES(silu_f32_v0, siluLanes),
    WRIT_SCALAR(gelu_tanh_f32_v0, geluTanhF32),
    WRIT_LANES(gelu_tanh_f32_v0, geluTanhLanes),
    WRIT_SCALAR(exp_f32_ggml_v0, expF32Ggml),
    WRIT_SCALAR(silu_f32_ggml_v0, siluF32Ggml),
    WRIT_SCALAR(tanh_f32_v0, tanhF32),
    WRIT_LANES(tanh_f32_v0, tanhLanes),
    WRIT_SCALAR(gelu_f16_ggml_v0, geluF16Ggml),
};

} // namespace

namespace writ::test {

std::span<const Production> WRIT_JOIN(productionOf, WRIT_ISA_NAME)() {
  return kTable;
}

} // namespace writ::test
