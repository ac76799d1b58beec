//===- embedding/lookup.h - rows of a packed matrix, decoded --------------===//
//
//   out[r][c] = decode(weight[token[r]][c]),   out f32 [rows][n]
//   scaled: rn(that * rn(sqrt(n)))
//
// The weight is the packed one that the logits' linear reads: there is one copy. A token that is
// not in the vocabulary gives a row of NaN.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/linear/decode.h"

namespace {

/// One decoded row; a row of NaN for a token that is not in the vocabulary.
template <typename Format, typename Args>
void decodeToken(const Args &args, int64_t token, float *out) {
  if (token < 0 || token >= args.vocabulary) {
    for (int64_t i = 0; i < args.n; ++i)
      out[i] = kNaN;
    return;
  }
  const void *panel = at<char>(args.weight, token / kPanelRows * Format::stride(args.n));
  Format::decodeRow(panel, token % kPanelRows, args.n, out);
}

template <typename Format, typename Args>
void lookUp(const Args &args, int64_t begin, int64_t end) {
  const auto *tokens = static_cast<const int32_t *>(args.token);
  for (int64_t row = begin; row < end; ++row)
    decodeToken<Format>(args, tokens[row], static_cast<float *>(args.out) + row * args.n);
}

template <typename Format, typename Args>
void lookUpScaled(const Args &args, int64_t begin, int64_t end) {
  lookUp<Format>(args, begin, end);
  const float factor = __builtin_sqrtf(static_cast<float>(args.n));
  float *out = static_cast<float *>(args.out);
  for (int64_t i = begin * args.n; i < end * args.n; ++i)
    out[i] *= factor;
}

} // namespace
