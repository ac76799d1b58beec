//===- gated_codes.h - activation codes of gated rows ----------------------===//
//
// gate, then quantize_activation; the gated row is never stored.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/quantize_activation/code_rows.h"

namespace {

/// Rows [begin, end) of the activation whose vector form is `lanes`. Sum is the type of the
/// layout's sums.
template <const writ::ActivationCodes &layout, typename Sum, typename Args, typename LanesForm>
void gateAndQuantizeRows(const Args &args, int64_t begin, int64_t end, LanesForm lanes) {
  const int64_t n = args.n;
  for (int64_t row = begin; row < end; ++row) {
    const float *gate = static_cast<const float *>(args.gate) + row * n;
    const float *up = static_cast<const float *>(args.up) + row * n;
    quantizeRow<layout, Sum>(at<char>(args.out, row * layout.rowBytes(n)), n,
                             [&](int64_t i) { return mul(lanes(load(gate + i)), load(up + i)); });
  }
}

} // namespace
