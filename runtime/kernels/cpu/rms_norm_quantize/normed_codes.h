//===- normed_codes.h - activation codes of normalised rows ----------------===//
//
// rms_norm, then quantize_activation, of rows of one vector; the normalised row is never stored.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/quantize_activation/code_rows.h"
#include "runtime/kernels/cpu/rms_norm/root_mean_square.h"

namespace {

/// Rows [begin, end). Sum is the type of the layout's sums.
template <const writ::ActivationCodes &layout, typename Sum, typename Args>
void normAndQuantizeRows(const Args &args, int64_t begin, int64_t end) {
  const int64_t n = args.n;
  const auto *weight = static_cast<const float *>(args.weight);
  for (int64_t row = begin; row < end; ++row) {
    const float *x = static_cast<const float *>(args.input) + row * n;
    const Lanes scale = broadcast(reciprocalOfRoot(x, n, args.epsilon));
    quantizeRow<layout, Sum>(at<char>(args.out, row * layout.rowBytes(n)), n, [&](int64_t i) {
      return mul(mul(load(x + i), scale), load(weight + i));
    });
  }
}

} // namespace
