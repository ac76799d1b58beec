//===- kv_store/store.h - rows of K and V into their pages ----------------===//
//
// Writes each row's K and V at the row's position of its sequence. k, v f32
// [rows][kv_heads][head_dim]; the pages lie as writ_kv_view says, their rows as kv_rows.h. A unit
// is one row.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/kv.h"
#include "runtime/kernels/cpu/kv_rows.h"

namespace {

template <typename Rows, typename Args>
void storeRows(const Args &args, int64_t begin, int64_t end) {
  const auto &view = *static_cast<const writ_kv_view *>(args.kv);
  const auto *position = static_cast<const int32_t *>(args.position);
  const auto *sequence = static_cast<const int32_t *>(args.sequence);
  const int64_t headDim = args.head_dim;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t offset = tokenOffset(view, args.layer, sequence[row], position[row]);
    for (int64_t head = 0; head < args.kv_heads; ++head) {
      const int64_t from = (row * args.kv_heads + head) * headDim;
      const int64_t to = offset + head * Rows::bytes(headDim);
      Rows::narrow(static_cast<const float *>(args.k) + from, headDim, at<char>(view.k_plane, to));
      Rows::narrow(static_cast<const float *>(args.v) + from, headDim, at<char>(view.v_plane, to));
    }
  }
}

} // namespace
