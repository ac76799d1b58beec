//===- attention/paged.h - queries over paged keys and values -------------===//
//
//   q, out f32 [rows][heads][head_dim]; query head h reads KV head h / (heads / kv_heads); a query
//   at position p sees the positions p - window + 1 .. p of its sequence, from 0 on; all up to p
//   where the window is kNoWindow
//
// Keys lie in tiles of 32 and chunks of 256 at absolute positions. A chunk starts from m = -inf, l
// = o = 0 (tile.h); chunks are merged ascending, the first that a query sees being copied; out =
// rn(o * rn(1 / l)). What no query of a block sees is never read, nor is a page that holds nothing
// else looked up. A unit is one query, a head of a row. Those that share a KV head are neighbours,
// so that a run of units shares the pages: unit = (kv_head * rows + row) * group + head of the
// group. A run is taken in blocks of queries of one sequence.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/attention/tile.h"
#include "runtime/kernels/cpu/kv.h"
#include "runtime/kernels/cpu/kv_rows.h"

namespace {

constexpr int64_t kNoWindow = INT64_MAX;

inline int64_t chunkOf(int64_t position) {
  return position / kChunkKeys * kChunkKeys;
}

struct Query {
  const float *q;
  float *out;
  KeyRange visible; ///< positions that it sees
  SoftmaxState total, chunk;
};

struct Block {
  Query queries[kMaxQueries];
  int64_t count;
  KeyRange visible; ///< from the first to the last of its queries
  int64_t sequence, kvHead;
};

struct Scratch {
  TileData tile;
  alignas(64) float state[2 * kMaxQueries * kMaxHeadDim];
  alignas(64) float p[kMaxQueries][kTileKeys];
};

/// The keys of the tile at `first` that a query sees, counted from the tile's start.
inline KeyRange seenInTile(const Query &query, int64_t first) {
  const int64_t begin = query.visible.begin - first, end = query.visible.end - first;
  return {begin > 0 ? begin : 0, least(kTileKeys, end)};
}

/// Keys and values of the positions first + j for each bit j of `wanted`.
template <typename Rows, typename Args>
void widenTile(const Args &args, const Block &block, int64_t first, uint64_t wanted,
               TileData &tile) {
  const auto &view = *static_cast<const writ_kv_view *>(args.kv);
  const int64_t headDim = args.head_dim;
  for (int64_t j = 0; j < kTileKeys; ++j) {
    if (!(wanted >> j & 1))
      continue;
    const int64_t offset = tokenOffset(view, args.layer, block.sequence, first + j) +
                           block.kvHead * Rows::bytes(headDim);
    Rows::widen(at<char>(view.k_plane, offset), headDim, tile.k + j * headDim);
    Rows::widen(at<char>(view.v_plane, offset), headDim, tile.v + j * headDim);
  }
}

inline void startRange(SoftmaxState &state, int64_t headDim) {
  state.maximum = -kInfinity;
  state.sum = 0.0f;
  for (int64_t d = 0; d < headDim; d += kLanes)
    store(zero(), state.values + d);
}

/// Every query of the block against the tile that starts at key `first`. A query's first chunk
/// accumulates in the total itself.
template <typename Rows, typename Args>
void runTile(const Args &args, Block &block, int64_t first, Scratch &scratch) {
  const int64_t headDim = args.head_dim;
  int64_t active[kMaxQueries], count = 0;
  KeyRange seen[kMaxQueries];
  uint64_t wanted = 0;
  for (int64_t i = 0; i < block.count; ++i) {
    const KeyRange range = seenInTile(block.queries[i], first);
    if (range.begin >= range.end)
      continue;
    wanted |= ((uint64_t{1} << range.end) - 1) & ~((uint64_t{1} << range.begin) - 1);
    seen[count] = range;
    active[count++] = i;
  }
  widenTile<Rows>(args, block, first, wanted, scratch.tile);
  const float *p[kMaxQueries];
  float alpha[kMaxQueries];
  float *out[kMaxQueries];
  for (int64_t i = 0; i < count; ++i) {
    Query &query = block.queries[active[i]];
    SoftmaxState &state = chunkOf(first) <= query.visible.begin ? query.total : query.chunk;
    tileScores(query.q, scratch.tile.k, headDim, seen[i], args.scale, scratch.p[i]);
    alpha[i] = tileSoftmax(scratch.p[i], seen[i], state);
    p[i] = scratch.p[i];
    out[i] = state.values;
  }
  // neighbours that see the same keys share the loads of the values
  for (int64_t i = 0, next; i < count; i = next) {
    next = i + 1;
    while (next < count && next - i < kQueryGroup && seen[next] == seen[i])
      ++next;
    tileValuesOf<kQueryGroup>(next - i, scratch.tile.v, headDim, seen[i], p + i, alpha + i,
                              out + i);
  }
}

template <typename Rows, typename Args>
void runBlock(const Args &args, Block &block, Scratch &scratch) {
  const int64_t headDim = args.head_dim;
  for (int64_t i = 0; i < block.count; ++i) {
    Query &query = block.queries[i];
    query.total.values = scratch.state + 2 * i * headDim;
    query.chunk.values = query.total.values + headDim;
    startRange(query.total, headDim);
  }
  for (int64_t chunk = chunkOf(block.visible.begin); chunk < block.visible.end;
       chunk += kChunkKeys) {
    const auto isLater = [&](const Query &query) { // sees this chunk and one before it
      return query.visible.begin < chunk && query.visible.end > chunk;
    };
    for (int64_t i = 0; i < block.count; ++i)
      if (isLater(block.queries[i]))
        startRange(block.queries[i].chunk, headDim);
    const int64_t end = least(chunk + kChunkKeys, block.visible.end);
    const int64_t begin = block.visible.begin > chunk ? block.visible.begin : chunk;
    for (int64_t first = begin / kTileKeys * kTileKeys; first < end; first += kTileKeys)
      runTile<Rows>(args, block, first, scratch);
    for (int64_t i = 0; i < block.count; ++i)
      if (isLater(block.queries[i]))
        mergeChunk(block.queries[i].total, block.queries[i].chunk, headDim);
  }
  for (int64_t i = 0; i < block.count; ++i) {
    const Query &query = block.queries[i];
    const Lanes inverse = broadcast(1.0f / query.total.sum);
    for (int64_t d = 0; d < headDim; d += kLanes)
      store(mul(load(query.total.values + d), inverse), query.out + d);
  }
}

/// The units [begin, end) of an attention whose argument block has q, kv, layer, position,
/// sequence, out, rows, heads, kv_heads, head_dim and scale.
template <typename Rows, typename Args>
void attendPages(const Args &args, int64_t window, int64_t begin, int64_t end) {
  const auto *position = static_cast<const int32_t *>(args.position);
  const auto *sequence = static_cast<const int32_t *>(args.sequence);
  const int64_t headDim = args.head_dim, group = args.heads / args.kv_heads;
  Scratch scratch;
  Block block;
  block.count = 0;
  const auto flush = [&] {
    if (block.count > 0)
      runBlock<Rows>(args, block, scratch);
    block.count = 0;
  };
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t kvHead = unit / group / args.rows, row = unit / group % args.rows;
    const int64_t head = kvHead * group + unit % group;
    if (block.count == kMaxQueries ||
        (block.count > 0 && (block.sequence != sequence[row] || block.kvHead != kvHead)))
      flush();
    const int64_t keys = position[row] + 1, at = (row * args.heads + head) * headDim;
    const KeyRange visible{keys > window ? keys - window : 0, keys};
    if (block.count == 0) {
      block.sequence = sequence[row];
      block.kvHead = kvHead;
      block.visible = visible;
    }
    Query &query = block.queries[block.count++];
    query.q = static_cast<const float *>(args.q) + at;
    query.out = static_cast<float *>(args.out) + at;
    query.visible = visible;
    if (visible.begin < block.visible.begin)
      block.visible.begin = visible.begin;
    if (visible.end > block.visible.end)
      block.visible.end = visible.end;
  }
  flush();
}

} // namespace
