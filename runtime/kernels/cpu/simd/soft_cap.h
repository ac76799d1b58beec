//===- simd/soft_cap.h - tanh_f32_v0 and the soft-cap in 16 lanes ---------===//
#pragma once

#include "runtime/kernels/cpu/simd/lanes.h"
#include "runtime/kernels/cpu/tanh.h"

namespace {

/// tanh_f32_v0 in each lane; the steps of tanhF32.
inline Lanes tanhLanes(Lanes x) {
  using namespace tanh_f32_v0;
  const Lanes a = absolute(x), z = mul(x, x);
  Lanes p = broadcast(kT4);
  p = fma(p, z, broadcast(kT3));
  p = fma(p, z, broadcast(kT2));
  p = fma(p, z, broadcast(kT1));
  p = fma(p, z, broadcast(kT0));
  p = fma(p, mul(z, a), a);
  const Lanes one = broadcast(1.0f);
  const Lanes q = sub(one, div(broadcast(2.0f), add(expLanes(add(a, a)), one)));
  const Lanes t = selectGreater(broadcast(kNear), a, p, q);
  const Lanes y = selectGreater(zero(), x, sub(zero(), t), t); // t is not 0 where x is not
  return selectNaN(x, broadcast(kNaN), selectGreater(a, zero(), y, x));
}

/// The steps of capF32.
inline Lanes capLanes(Lanes x, float cap) {
  return mul(broadcast(cap), tanhLanes(div(x, broadcast(cap))));
}

} // namespace
