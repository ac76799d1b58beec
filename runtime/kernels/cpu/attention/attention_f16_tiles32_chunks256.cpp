// Causal attention over paged f16 keys and values, grouped queries.
//
//   q, out f32 [rows][heads][head_dim]; a query at position p sees the positions 0 .. p of its
//   sequence; query head h reads KV head h / (heads / kv_heads)
//
// Keys lie in tiles of 32 and chunks of 256 at absolute positions. A chunk starts from m = -inf, l
// = o = 0 (tile.h); chunks are merged ascending; out = rn(o * rn(1 / l)). What a query may not see
// is never read. A unit is one KV head of one row, rows of one KV head being neighbours, so that a
// run of units shares the pages: unit = kv_head * rows + row. A run is taken in blocks of queries
// of one sequence.
#include "writ/kernels/attention_f16_tiles32_chunks256.h"
#include "runtime/kernels/cpu/attention/tile.h"
#include "runtime/kernels/cpu/kv.h"

namespace {

using Args = attention_f16_tiles32_chunks256_args;

struct Query {
  const float *q;
  float *out;
  int64_t visible; ///< keys that it sees
  SoftmaxState total, chunk;
};

struct Block {
  Query queries[kMaxQueries];
  int64_t count;
  int64_t visible; ///< the most of its queries
  int64_t sequence, kvHead;
};

struct Scratch {
  TileData tile;
  alignas(64) float state[2 * kMaxQueries * kMaxHeadDim];
  alignas(64) float p[kMaxQueries][kTileKeys];
};

void widenTile(const Args &args, const Block &block, int64_t first, int64_t keys, TileData &tile) {
  const auto &view = *static_cast<const writ_kv_view *>(args.kv);
  const int64_t headDim = args.head_dim;
  for (int64_t j = 0; j < keys; ++j) {
    const int64_t offset = tokenOffset(view, args.layer, block.sequence, first + j) +
                           block.kvHead * headDim * static_cast<int64_t>(sizeof(uint16_t));
    const uint16_t *k = at<uint16_t>(view.k_plane, offset);
    const uint16_t *v = at<uint16_t>(view.v_plane, offset);
    for (int64_t d = 0; d < headDim; d += kLanes) {
      store(loadHalf(k + d), tile.k + j * headDim + d);
      store(loadHalf(v + d), tile.v + j * headDim + d);
    }
  }
}

void startRange(SoftmaxState &state, int64_t headDim) {
  state.maximum = -kInfinity;
  state.sum = 0.0f;
  for (int64_t d = 0; d < headDim; d += kLanes)
    store(zero(), state.values + d);
}

/// Every query of the block against the tile that starts at key `first`. The first chunk
/// accumulates in the total itself.
void runTile(const Args &args, Block &block, int64_t first, Scratch &scratch) {
  const int64_t headDim = args.head_dim;
  widenTile(args, block, first, least(kTileKeys, block.visible - first), scratch.tile);
  const float *p[kMaxQueries];
  float alpha[kMaxQueries];
  float *out[kMaxQueries];
  int64_t seen[kMaxQueries], active = 0;
  for (int64_t i = 0; i < block.count; ++i) {
    Query &query = block.queries[i];
    if (query.visible <= first)
      continue;
    SoftmaxState &state = first < kChunkKeys ? query.total : query.chunk;
    float *scores = scratch.p[active];
    seen[active] = least(kTileKeys, query.visible - first);
    tileScores(query.q, scratch.tile.k, headDim, seen[active], args.scale, scores);
    alpha[active] = tileSoftmax(scores, seen[active], state);
    p[active] = scores;
    out[active] = state.values;
    ++active;
  }
  // neighbours that see the same keys share the loads of the values
  for (int64_t i = 0, next; i < active; i = next) {
    next = i + 1;
    while (next < active && next - i < kQueryGroup && seen[next] == seen[i])
      ++next;
    tileValuesOf<kQueryGroup>(next - i, scratch.tile.v, headDim, seen[i], p + i, alpha + i,
                              out + i);
  }
}

void runBlock(const Args &args, Block &block, Scratch &scratch) {
  const int64_t headDim = args.head_dim;
  for (int64_t i = 0; i < block.count; ++i) {
    Query &query = block.queries[i];
    query.total.values = scratch.state + 2 * i * headDim;
    query.chunk.values = query.total.values + headDim;
    startRange(query.total, headDim);
  }
  for (int64_t chunk = 0; chunk < block.visible; chunk += kChunkKeys) {
    if (chunk > 0)
      for (int64_t i = 0; i < block.count; ++i)
        startRange(block.queries[i].chunk, headDim);
    const int64_t end = least(chunk + kChunkKeys, block.visible);
    for (int64_t first = chunk; first < end; first += kTileKeys)
      runTile(args, block, first, scratch);
    if (chunk > 0)
      for (int64_t i = 0; i < block.count; ++i)
        if (block.queries[i].visible > chunk)
          mergeChunk(block.queries[i].total, block.queries[i].chunk, headDim);
  }
  for (int64_t i = 0; i < block.count; ++i) {
    const Query &query = block.queries[i];
    const Lanes inverse = broadcast(1.0f / query.total.sum);
    for (int64_t d = 0; d < headDim; d += kLanes)
      store(mul(load(query.total.values + d), inverse), query.out + d);
  }
}

} // namespace

WRIT_BODY(attention_f16_tiles32_chunks256) {
  const auto &args = *static_cast<const Args *>(arguments);
  const auto *position = static_cast<const int32_t *>(args.position);
  const auto *sequence = static_cast<const int32_t *>(args.sequence);
  const int64_t headDim = args.head_dim, group = args.heads / args.kv_heads;
  Scratch scratch;
  Block block;
  block.count = 0;
  const auto flush = [&] {
    if (block.count > 0)
      runBlock(args, block, scratch);
    block.count = block.visible = 0;
  };
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t kvHead = unit / args.rows, row = unit % args.rows;
    for (int64_t head = kvHead * group; head < (kvHead + 1) * group; ++head) {
      if (block.count == kMaxQueries ||
          (block.count > 0 && (block.sequence != sequence[row] || block.kvHead != kvHead)))
        flush();
      if (block.count == 0) {
        block.sequence = sequence[row];
        block.kvHead = kvHead;
        block.visible = 0;
      }
      const int64_t at = (row * args.heads + head) * headDim;
      Query &query = block.queries[block.count++];
      query.q = static_cast<const float *>(args.q) + at;
      query.out = static_cast<float *>(args.out) + at;
      query.visible = position[row] + 1;
      if (query.visible > block.visible)
        block.visible = query.visible;
    }
  }
  flush();
}
