//===- gate/one_by_one.h - the activation of one row times another ---------===//
//
//   out = rn(activation(gate) * up), each f32 [rows][n], one element after the other
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/body.h"

namespace {

/// `activation(gate) * up` of rows [begin, end).
template <typename Args, typename Activation>
inline void gateRowsOneByOne(const Args &args, int64_t begin, int64_t end, Activation activation) {
  const auto *gate = static_cast<const float *>(args.gate);
  const auto *up = static_cast<const float *>(args.up);
  auto *out = static_cast<float *>(args.out);
  for (int64_t i = begin * args.n; i < end * args.n; ++i)
    out[i] = activation(gate[i]) * up[i];
}

} // namespace
