//===- activations.h - SiLU and GELU in 16 lanes ---------------------------===//
//
// silu_f32_v0 and gelu_tanh_f32_v0 of contracts/functions.json: x / (1 + exp(-u)).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/simd/units.h"

namespace {

/// rn(1 + exp_f32_v0(x)) in each lane where x is a number, whatever else. Of an exponential that
/// the sum cannot hold only that matters: above the clamp all are normal, so that one scaling by
/// the bits of the exponent does, and neither an underflow nor a NaN needs a selection.
inline Lanes onePlusExp(Lanes x) {
  using namespace exp_f32_v0;
  const Lanes clamped = maximum(x, broadcast(-64.0f));
  const Lanes shifted = add(mul(clamped, broadcast(kLog2e)), broadcast(kUnits));
  const Lanes n = sub(shifted, broadcast(kUnits));
  Lanes r = fma(n, broadcast(-kLn2Hi), clamped);
  r = fma(n, broadcast(-kLn2Lo), r);
  Lanes p = broadcast(kC4);
  p = fma(p, r, broadcast(kC3));
  p = fma(p, r, broadcast(kC2));
  p = fma(p, r, broadcast(kC1));
  p = fma(p, r, broadcast(kC0));
  p = fma(p, r, broadcast(1.0f));
  p = fma(p, r, broadcast(1.0f));
  const Lanes y = scaleShifted(p, shifted);
  return add(broadcast(1.0f), selectGreater(x, broadcast(kOverflow), broadcast(kInfinity), y));
}

/// A NaN is one whatever it is divided by.
inline Lanes siluLanes(Lanes x) {
  return div(x, onePlusExp(sub(broadcast(-0.0f), x)));
}

inline Lanes geluTanhLanes(Lanes x) {
  using namespace gelu_tanh_f32_v0;
  const Lanes u = mul(x, fma(mul(x, x), broadcast(kC3), broadcast(kC1)));
  return div(x, onePlusExp(sub(broadcast(-0.0f), u)));
}

} // namespace
