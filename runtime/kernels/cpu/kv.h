//===- kv.h - addresses in the paged KV planes ----------------------------===//
#pragma once

#include "runtime/kernels/cpu/body.h"
#include "writ/kernel_abi.h"

namespace {

/// Byte offset, in either plane, of the heads of one position.
inline int64_t tokenOffset(const writ_kv_view &view, int64_t layer, int64_t sequence,
                           int64_t position) {
  const int64_t page = view.block_table[sequence * view.table_stride + position / view.block_size];
  return layer * view.layer_stride + page * view.page_stride +
         position % view.block_size * view.token_stride;
}

} // namespace
