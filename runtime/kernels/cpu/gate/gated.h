//===- gate/gated.h - the activation of one row times another -------------===//
//
//   out = rn(activation(gate) * up), each f32 [rows][n]
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/simd/lanes.h"

namespace {

/// `lanes` and `scalar` are the vector and the scalar form of one activation.
template <typename Args, typename LanesForm, typename ScalarForm>
inline void gateRows(const Args &args, int64_t begin, int64_t end, LanesForm lanes,
                     ScalarForm scalar) {
  const int64_t n = args.n;
  for (int64_t row = begin; row < end; ++row) {
    const float *gate = static_cast<const float *>(args.gate) + row * n;
    const float *up = static_cast<const float *>(args.up) + row * n;
    float *out = static_cast<float *>(args.out) + row * n;
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
      store(mul(lanes(load(gate + i)), load(up + i)), out + i);
    for (; i < n; ++i)
      out[i] = scalar(gate[i]) * up[i];
  }
}

} // namespace
