//===- attention/paged.h - queries over paged keys and values -------------===//
//
//   q, out f32 [rows][heads][head_dim]; query head h reads KV head h / (heads / kv_heads); a query
//   at position p sees the positions p - window + 1 .. p of its sequence, from 0 on; all up to p
//   where the window is kNoWindow
//
// Keys lie in tiles of 32 and chunks of 256 at absolute positions. A chunk starts from m = -inf, l
// = o = 0 (tile.h); chunks are merged ascending, the first that a query sees being copied, then the
// sink of the head, where there are sinks (f32 [heads]); out = rn(o * rn(1 / l)). What no query of
// a block sees is never read, nor is a page that holds nothing else looked up.
//
// A unit is one query, a head of a row. Rows of one sequence that follow each other are taken in
// blocks, ordered as rowOf says; in a block the queries of a KV head are neighbours: unit = (block,
// KV head, row of the block, head of the group). A run of units is worked on a few dozen at a time,
// all of them against one tile of keys before the next: a page is read once for the rows of a
// prompt, and from one end to the other for the heads of a single row.
//
// Where the view says so (parts.h), the chunks of a query are divided among units, and the merge
// follows when all states are there: unit = (row, part, head). Who computes a chunk moves no bit.
//
// Against a tile: the scores of all KV heads, then the softmax of all queries (16 of them in the
// lanes of a vector), then the values of all KV heads. So keys and values are each read from one
// end to the other, and what waits for a score, a maximum or an exp of one query is done beside the
// others. Few queries use the vectors of a page as they widen them; of many, the tile of a KV head
// is widened once for all into binary32.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/attention/parts.h"
#include "runtime/kernels/cpu/kv.h"
#include "runtime/kernels/cpu/kv_rows.h"

namespace {

/// The row that comes at `index` of the `rows` of one sequence: blocks of rows from both ends in
/// turns (first, last, second, last but one ...), then the rows that fill no block. A later row of
/// a prompt sees more keys: so each contiguous part of the units has its share of them.
inline int64_t rowOf(int64_t index, int64_t rows, int64_t blockRows) {
  const int64_t blocks = rows / blockRows, block = index / blockRows;
  if (block >= blocks)
    return index;
  const int64_t from = block % 2 == 0 ? block / 2 : blocks - 1 - block / 2;
  return from * blockRows + index % blockRows;
}

/// A tile of more keys or values than these bytes is taken in halves: what is worked on is still in
/// the first cache from when it was asked for.
constexpr int64_t kStepBytes = 48 << 10;
/// Up to so many queries of a KV head use its vectors as they are widened; for more, the tile is
/// widened once.
constexpr int64_t kWidenedFrom = WRIT_ISA_LEVEL == 2 ? 8 : 1;

struct Query {
  const float *q;
  float *out;
  KeyRange visible; ///< positions that it sees
  int64_t head, kvHead;
  float *partial; ///< where the state of its first chunk goes; null: chunks are merged here
  SoftmaxState total;
  float *values, *chunkValues; ///< those of the chunk at hand; those of any but its first

  /// A query's first chunk accumulates in the total itself.
  bool isLater(int64_t chunkBegin) const {
    return visible.begin < chunkBegin && visible.end > chunkBegin;
  }
};

struct Block {
  Query queries[kMaxQueries];
  int64_t count = 0;
  KeyRange visible; ///< from the first to the last of its queries
  int64_t sequence;

  int64_t firstKvHead() const { return queries[0].kvHead; }
  int64_t kvHeads() const { return queries[count - 1].kvHead - firstKvHead() + 1; }
};

/// One tile of a block: who sees what of it, and where it lies.
struct Tile {
  int64_t first; ///< position of its first key
  int64_t count; ///< queries that see something
  int64_t active[kMaxQueries];
  KeyRange seen[kMaxQueries]; ///< of the active ones
  uint64_t wanted;            ///< bit j: somebody sees key j
  TileRows rows;              ///< of the block's first KV head
};

struct Scratch {
  Tile tiles[2];
  TileData data;
  TileRows widened; ///< the rows of `data`
  alignas(64) float state[2 * kMaxQueries * kMaxHeadDim];
  alignas(64) float p[kMaxQueries][kTileKeys];
  alignas(64) float maxima[kMaxQueries] = {}; ///< of the block's queries, in the chunk at hand
  alignas(64) float sums[kMaxQueries] = {};
  alignas(64) float alpha[kMaxQueries]; ///< of the tile's active queries
};

/// The keys of the tile at `first` that a query sees, counted from the tile's start.
inline KeyRange seenInTile(const Query &query, int64_t first) {
  const int64_t begin = query.visible.begin - first, end = query.visible.end - first;
  return {begin > 0 ? begin : 0, least(kTileKeys, end)};
}

/// Where the wanted rows of a tile lie; the others are given the place of one that is wanted.
template <typename Rows, typename Args>
void locateRows(const Args &args, const Block &block, Tile &tile) {
  const auto &view = *static_cast<const writ_kv_view *>(args.kv);
  const int64_t ofHead = block.firstKvHead() * Rows::bytes(args.head_dim);
  int64_t pageEnd = 0, offset = 0, known = -1;
  for (int64_t j = 0; j < kTileKeys; ++j) {
    if (tile.wanted >> j & 1) {
      const int64_t position = tile.first + j;
      if (known < 0 || position >= pageEnd) { // a division, once for each page
        pageEnd = (position / view.block_size + 1) * view.block_size;
        offset = tokenOffset(view, args.layer, block.sequence, position) + ofHead -
                 position * view.token_stride;
      }
      tile.rows.k[j] = at<char>(view.k_plane, offset + position * view.token_stride);
      tile.rows.v[j] = at<char>(view.v_plane, offset + position * view.token_stride);
      if (known < 0)
        for (int64_t i = 0; i < j; ++i) {
          tile.rows.k[i] = tile.rows.k[j];
          tile.rows.v[i] = tile.rows.v[j];
        }
      known = j;
    } else if (known >= 0) {
      tile.rows.k[j] = tile.rows.k[known];
      tile.rows.v[j] = tile.rows.v[known];
    }
  }
}

template <typename Rows, typename Args>
void findTile(const Args &args, const Block &block, int64_t first, Tile &tile) {
  tile.first = first;
  tile.count = 0;
  tile.wanted = 0;
  for (int64_t i = 0; i < block.count; ++i) {
    const KeyRange range = seenInTile(block.queries[i], first);
    if (range.begin >= range.end)
      continue;
    tile.wanted |= ((uint64_t{1} << range.end) - 1) & ~((uint64_t{1} << range.begin) - 1);
    tile.seen[tile.count] = range;
    tile.active[tile.count++] = i;
  }
  if (tile.count > 0)
    locateRows<Rows>(args, block, tile);
}

/// The wanted rows of one KV head in binary32.
template <typename Rows>
void widenRows(const void *const *rows, int64_t ofHead, uint64_t wanted, int64_t headDim,
               float *widened) {
  for (int64_t j = 0; j < kTileKeys; ++j)
    if (wanted >> j & 1)
      for (int64_t d = 0; d < headDim; d += kLanes)
        store(Rows::values(at<char>(rows[j], ofHead), d), widened + j * headDim + d);
}

/// The active queries of `run`, which share a KV head: their scores of the keys in `keys`.
template <typename Rows, typename L>
void scoreRun(const Block &block, const Tile &tile, KeyRange run, const void *const *rows,
              int64_t ofHead, KeyRange keys, int64_t headDim, float scale, Scratch &scratch,
              RowsAhead &ahead) {
  for (int64_t i = run.begin; i < run.end; i += kQueryGroup) {
    const int64_t queries = least(kQueryGroup, run.end - i);
    const float *q[kQueryGroup];
    float *scores[kQueryGroup];
    KeyRange seen = tile.seen[i];
    for (int64_t n = 0; n < queries; ++n) {
      q[n] = block.queries[tile.active[i + n]].q;
      scores[n] = scratch.p[i + n];
      seen = {least(tile.seen[i + n].begin, seen.begin),
              tile.seen[i + n].end > seen.end ? tile.seen[i + n].end : seen.end};
    }
    keyScoresOf<Rows, kQueryGroup, L>(queries, q, rows, ofHead, headDim, bothOf(keys, seen), scale,
                                      scores, ahead);
  }
}

/// The active queries of `run`: the values in `keys` added to their sums.
template <typename Rows, typename L>
void addRun(const Block &block, const Tile &tile, KeyRange run, const void *const *rows,
            int64_t ofHead, KeyRange keys, int64_t headDim, Scratch &scratch, RowsAhead &ahead) {
  for (int64_t i = run.begin; i < run.end; i += kQueryGroup) {
    const int64_t queries = least(kQueryGroup, run.end - i);
    const float *p[kQueryGroup];
    float *out[kQueryGroup];
    for (int64_t n = 0; n < queries; ++n) {
      p[n] = scratch.p[i + n];
      out[n] = block.queries[tile.active[i + n]].values;
    }
    groupValues<Rows, L>(queries, rows, ofHead, headDim, keys, tile.seen + i, p, scratch.alpha + i,
                         out, ahead);
  }
}

/// Scores into p, for the tile's active queries.
template <typename Cap>
void softenTile(const Block &block, const Tile &tile, Cap cap, Scratch &scratch) {
  const bool all = tile.count == block.count;
  for (int64_t i = 0; i < tile.count; i += kLanes) {
    const int64_t queries = least(kLanes, tile.count - i);
    alignas(64) float maxima[kLanes] = {}, sums[kLanes] = {};
    float *m = scratch.maxima + i, *l = scratch.sums + i;
    if (!all) {
      for (int64_t n = 0; n < queries; ++n) {
        maxima[n] = scratch.maxima[tile.active[i + n]];
        sums[n] = scratch.sums[tile.active[i + n]];
      }
      m = maxima;
      l = sums;
    }
    Lanes most = load(m), sum = load(l);
    store(tileSoftmax(queries, scratch.p + i, tile.seen + i, cap, most, sum), scratch.alpha + i);
    store(most, m);
    store(sum, l);
    if (!all)
      for (int64_t n = 0; n < queries; ++n) {
        scratch.maxima[tile.active[i + n]] = maxima[n];
        scratch.sums[tile.active[i + n]] = sums[n];
      }
  }
}

/// The block against one tile: the keys of all KV heads, then the values.
template <typename Rows, typename Cap>
void runTile(Block &block, const Tile &tile, const TileRows *next, int64_t headDim, float scale,
             Cap cap, Scratch &scratch) {
  const int64_t bytes = Rows::bytes(headDim);
  KeyRange runs[kMaxQueries];
  int64_t count = 0, most = 0, valueCalls = 0;
  for (int64_t begin = 0, end; begin < tile.count; begin = end) {
    const int64_t kvHead = block.queries[tile.active[begin]].kvHead;
    for (end = begin + 1; end < tile.count; ++end)
      if (block.queries[tile.active[end]].kvHead != kvHead)
        break;
    runs[count++] = {begin, end};
    most = end - begin > most ? end - begin : most;
    valueCalls += (end - begin) / kQueryGroup * callsOfValues(kQueryGroup, headDim);
    if ((end - begin) % kQueryGroup != 0)
      valueCalls += callsOfValues((end - begin) % kQueryGroup, headDim);
  }
  const auto ofHead = [&](KeyRange run) {
    return (block.queries[tile.active[run.begin]].kvHead - block.firstKvHead()) * bytes;
  };
  const int64_t row = block.kvHeads() * bytes;
  if (most > kWidenedFrom) {
    const KeyRange all{0, kTileKeys};
    RowsAhead values(tile.rows.v, kTileKeys, row, tile.count * kTileKeys / kLanes);
    for (int64_t i = 0; i < count; ++i) {
      widenRows<Rows>(tile.rows.k, ofHead(runs[i]), tile.wanted, headDim, scratch.data.k);
      scoreRun<F32Rows, NoLines>(block, tile, runs[i], scratch.widened.k, 0, all, headDim, scale,
                                 scratch, values);
    }
    softenTile(block, tile, cap, scratch);
    RowsAhead keys(next ? next->k : nullptr, kTileKeys, row, valueCalls);
    for (int64_t i = 0; i < count; ++i) {
      widenRows<Rows>(tile.rows.v, ofHead(runs[i]), tile.wanted, headDim, scratch.data.v);
      addRun<F32Rows, NoLines>(block, tile, runs[i], scratch.widened.v, 0, all, headDim, scratch,
                               keys);
    }
    return;
  }
  const int64_t step = kTileKeys * row > kStepBytes ? kTileKeys / 2 : kTileKeys;
  for (int64_t first = 0; first < kTileKeys; first += step) {
    const int64_t after = first + step;
    RowsAhead ahead(after < kTileKeys ? tile.rows.k + after : tile.rows.v, step, row,
                    tile.count * step / kLanes);
    for (int64_t i = 0; i < count; ++i)
      scoreRun<Rows, Lines>(block, tile, runs[i], tile.rows.k, ofHead(runs[i]), {first, after},
                            headDim, scale, scratch, ahead);
  }
  softenTile(block, tile, cap, scratch);
  for (int64_t first = 0; first < kTileKeys; first += step) {
    const int64_t after = first + step;
    RowsAhead ahead(after < kTileKeys ? tile.rows.v + after
                    : next            ? next->k
                                      : nullptr,
                    step, row, valueCalls);
    for (int64_t i = 0; i < count; ++i)
      addRun<Rows, Lines>(block, tile, runs[i], tile.rows.v, ofHead(runs[i]), {first, after},
                          headDim, scratch, ahead);
  }
}

/// A query's state of the chunk is complete: it is merged, or kept for the merge.
template <typename Args>
void endChunk(const Args &args, Query &query, int64_t chunk, float maximum, float sum) {
  const bool later = query.isLater(chunk);
  const SoftmaxState state{maximum, sum, query.values};
  if (query.partial) {
    const int64_t index = (chunk - chunkOf(query.visible.begin)) / kChunkKeys;
    if (later || (index == 0 && query.visible.end > chunk))
      keepState(state, args.head_dim, query.partial + index * stateStride(args));
  } else if (later) {
    mergeChunk(query.total, state, args.head_dim);
  } else if (query.visible.end > chunk && query.visible.begin < chunk + kChunkKeys) {
    query.total = state;
  }
}

template <typename Rows, typename Args>
void runBlock(const Args &args, Block &block, Scratch &scratch) {
  const int64_t headDim = args.head_dim;
  for (int64_t i = 0; i < block.count; ++i) {
    Query &query = block.queries[i];
    query.values = query.total.values = scratch.state + 2 * i * headDim;
    query.chunkValues = query.values + headDim;
  }
  for (int64_t j = 0; j < kTileKeys; ++j) {
    scratch.widened.k[j] = scratch.data.k + j * headDim;
    scratch.widened.v[j] = scratch.data.v + j * headDim;
  }
  int64_t first = block.visible.begin / kTileKeys * kTileKeys;
  findTile<Rows>(args, block, first, scratch.tiles[0]);
  bool starts = true;
  for (int64_t turn = 0; first < block.visible.end; ++turn, first += kTileKeys) {
    const int64_t after = first + kTileKeys, chunk = chunkOf(first);
    const Tile &tile = scratch.tiles[turn % 2];
    Tile &next = scratch.tiles[(turn + 1) % 2];
    next.count = 0;
    if (after < block.visible.end)
      findTile<Rows>(args, block, after, next);
    if (starts || first == chunk)
      for (int64_t i = 0; i < block.count; ++i) {
        Query &query = block.queries[i];
        query.values = query.isLater(chunk) ? query.chunkValues : query.total.values;
        if (query.isLater(chunk) || query.visible.begin >= chunk) {
          startRange(query.values, headDim);
          scratch.maxima[i] = -kInfinity;
          scratch.sums[i] = 0.0f;
        }
      }
    starts = false;
    if (tile.count > 0)
      runTile<Rows>(block, tile, next.count > 0 ? &next.rows : nullptr, headDim, args.scale,
                    capOf(args), scratch);
    if (after % kChunkKeys == 0 || after >= block.visible.end)
      for (int64_t i = 0; i < block.count; ++i)
        endChunk(args, block.queries[i], chunk, scratch.maxima[i], scratch.sums[i]);
  }
  for (int64_t i = 0; i < block.count; ++i)
    if (!block.queries[i].partial)
      finishQuery(args, block.queries[i].total, block.queries[i].head, block.queries[i].out);
}

/// Collects queries into blocks and runs them.
template <typename Rows, typename Args> struct Queue {
  const Args &args;
  Scratch scratch;
  Block block;

  explicit Queue(const Args &args) : args(args) {}

  void flush() {
    if (block.count > 0)
      runBlock<Rows>(args, block, scratch);
    block.count = 0;
  }

  void take(int64_t row, int64_t head, KeyRange visible, float *partial) {
    if (block.count == kMaxQueries)
      flush();
    if (block.count == 0) {
      block.sequence = static_cast<const int32_t *>(args.sequence)[row];
      block.visible = visible;
    }
    const int64_t at = (row * args.heads + head) * args.head_dim;
    Query &query = block.queries[block.count++];
    query.q = static_cast<const float *>(args.q) + at;
    query.out = static_cast<float *>(args.out) + at;
    query.visible = visible;
    query.head = head;
    query.kvHead = head / (args.heads / args.kv_heads);
    query.partial = partial;
    block.visible = {least(visible.begin, block.visible.begin),
                     visible.end > block.visible.end ? visible.end : block.visible.end};
  }
};

/// The units [begin, end) where each sees all keys of its query.
template <typename Rows, typename Args>
void attendWhole(const Args &args, int64_t window, int64_t begin, int64_t end) {
  const auto *sequence = static_cast<const int32_t *>(args.sequence);
  const int64_t group = args.heads / args.kv_heads;
  const int64_t blockRows = group < kMaxQueries ? kMaxQueries / group : 1;
  Queue<Rows, Args> queue(args);
  for (int64_t from = 0, to; from < args.rows; from = to) { // rows of one sequence
    for (to = from + 1; to < args.rows && sequence[to] == sequence[from];)
      ++to;
    for (int64_t index = 0; index < to - from; index += blockRows) {
      const int64_t rows = least(blockRows, to - from - index);
      const int64_t first = (from + index) * args.heads;
      for (int64_t unit = begin > first ? begin - first : 0;
           unit < least(rows * args.heads, end - first); ++unit) {
        const int64_t kvHead = unit / (rows * group);
        const int64_t row = from + rowOf(index + unit / group % rows, to - from, blockRows);
        queue.take(row, kvHead * group + unit % group, visibleTo(args, window, row), nullptr);
      }
      queue.flush();
    }
  }
}

/// The units [begin, end) of `parts` parts of each query. Those of a row with the same heads and
/// parts that follow each other are worked on as one.
template <typename Rows, typename Args>
void attendParts(const Args &args, int64_t window, int64_t parts, int64_t begin, int64_t end) {
  Queue<Rows, Args> queue(args);
  const int64_t perRow = parts * args.heads;
  for (int64_t unit = begin, next; unit < end; unit = next) {
    const int64_t row = unit / perRow, part = unit % perRow / args.heads;
    const int64_t firstHead = unit % args.heads, rowEnd = least(end, (row + 1) * perRow);
    int64_t heads = args.heads - firstHead, partEnd = part + 1;
    if (firstHead == 0 && rowEnd - unit >= args.heads)
      partEnd = part + (rowEnd - unit) / args.heads;
    else
      heads = least(heads, rowEnd - unit);
    next = unit + (partEnd - part - 1) * args.heads + heads;
    const KeyRange visible = visibleTo(args, window, row);
    const int64_t chunks = chunksOf(visible), firstChunk = chunkOf(visible.begin) / kChunkKeys;
    const int64_t from = chunks * part / parts, to = chunks * partEnd / parts;
    if (from == to)
      continue;
    const int64_t first = (firstChunk + from) * kChunkKeys;
    const KeyRange seen{first > visible.begin ? first : visible.begin,
                        least((firstChunk + to) * kChunkKeys, visible.end)};
    for (int64_t head = firstHead; head < firstHead + heads; ++head)
      queue.take(row, head, seen, stateOf(args, row, head) + from * stateStride(args));
    queue.flush();
  }
}

/// The units [begin, end) of an attention whose argument block has q, kv, layer, position,
/// sequence, out, rows, heads, kv_heads, head_dim and scale.
template <typename Rows, typename Args>
void attendPages(const Args &args, int64_t window, int64_t begin, int64_t end) {
  const int64_t given = givenParts(args);
  if (given == 1)
    attendWhole<Rows>(args, window, begin, end);
  else if (hasRoom(args, window))
    attendParts<Rows>(args, window, given, begin, end);
  else // the first part of each query does all of it
    attendWhole<Rows>(args, window, ceilDiv(begin, given), ceilDiv(end, given));
}

/// Merges the states of the parts: units [begin, end) of rows * heads.
template <typename Args>
void mergeParts(const Args &args, int64_t window, int64_t begin, int64_t end) {
  if (!hasRoom(args, window))
    return;
  alignas(64) float values[kMaxHeadDim];
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t row = unit / args.heads, head = unit % args.heads;
    const int64_t chunks = chunksOf(visibleTo(args, window, row));
    float *state = stateOf(args, row, head);
    SoftmaxState total = keptState(state, args.head_dim);
    for (int64_t d = 0; d < args.head_dim; d += kLanes)
      store(load(total.values + d), values + d);
    total.values = values;
    for (int64_t chunk = 1; chunk < chunks; ++chunk)
      mergeChunk(total, keptState(state + chunk * stateStride(args), args.head_dim), args.head_dim);
    finishQuery(args, total, head,
                static_cast<float *>(args.out) + (row * args.heads + head) * args.head_dim);
  }
}

} // namespace
