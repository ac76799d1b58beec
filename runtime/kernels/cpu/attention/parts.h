//===- attention/parts.h - the states of chunks that units keep apart -----===//
//
// Where keys are divided (writ_kv_view::parts), a query's state of each chunk that it sees lies in
// the view's `partials`, f32 [chunk][row][head][head_dim + 16], the chunks counted from the query's
// first: the values, then maximum and sum. Parts are of whole chunks, and the merge takes them in
// the contract's order, as a unit that sees all keys does.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/attention/tile.h"
#include "writ/kernel_abi.h"

namespace {

constexpr int64_t kNoWindow = INT64_MAX;

inline int64_t chunkOf(int64_t position) {
  return position / kChunkKeys * kChunkKeys;
}

// What an attention does beyond the plain one is in its argument block, as its map says: a block
// without the argument compiles to a body without the work.

template <typename Args> auto capOf(const Args &args) {
  if constexpr (requires { args.soft_cap; })
    return SoftCap{args.soft_cap};
  else
    return NoCap{};
}

/// The end of a query: all of its keys are in `total`.
template <typename Args>
void finishQuery(const Args &args, SoftmaxState &total, int64_t head, float *out) {
  if constexpr (requires { args.sinks; })
    mergeSink(total, static_cast<const float *>(args.sinks)[head], args.head_dim);
  writeOutput(total, args.head_dim, out);
}

/// The positions that the queries of a row see.
template <typename Args> KeyRange visibleTo(const Args &args, int64_t window, int64_t row) {
  const int64_t keys = static_cast<const int32_t *>(args.position)[row] + 1;
  return {keys > window ? keys - window : 0, keys};
}

inline int64_t chunksOf(KeyRange visible) {
  return ceilDiv(visible.end - chunkOf(visible.begin), kChunkKeys);
}

template <typename Args> const writ_kv_view &viewOf(const Args &args) {
  return *static_cast<const writ_kv_view *>(args.kv);
}

/// Parts that the view asks for; 1: a unit sees all keys.
template <typename Args> int64_t givenParts(const Args &args) {
  return viewOf(args).parts > 1 ? viewOf(args).parts : 1;
}

/// Floats from a state to the same query's state of the next chunk.
template <typename Args> int64_t stateStride(const Args &args) {
  return args.rows * args.heads * (args.head_dim + kLanes);
}

template <typename Args> float *stateOf(const Args &args, int64_t row, int64_t head) {
  return viewOf(args).partials + (row * args.heads + head) * (args.head_dim + kLanes);
}

/// Whether the states of all chunks fit.
template <typename Args> bool hasRoom(const Args &args, int64_t window) {
  int64_t chunks = 0;
  for (int64_t row = 0; row < args.rows; ++row) {
    const int64_t ofRow = chunksOf(visibleTo(args, window, row));
    chunks = ofRow > chunks ? ofRow : chunks;
  }
  const int64_t room = viewOf(args).partial_bytes / static_cast<int64_t>(sizeof(float));
  return viewOf(args).partials && chunks <= room / stateStride(args);
}

inline void keepState(const SoftmaxState &state, int64_t headDim, float *to) {
  for (int64_t d = 0; d < headDim; d += kLanes)
    store(load(state.values + d), to + d);
  to[headDim] = state.maximum;
  to[headDim + 1] = state.sum;
}

inline SoftmaxState keptState(float *from, int64_t headDim) {
  return {from[headDim], from[headDim + 1], from};
}

} // namespace
