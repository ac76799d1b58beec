//===- attention/tile.h - one tile of 32 keys against a few queries -------===//
//
// The arithmetic of a tile, for queries that share a KV head:
//
//   score = rn(dot * scale), dot in 16 lanes over head_dim, one fma each, then their tree
//   m' = max(m, scores); alpha = exp(m - m'); p = exp(score - m')
//   l = fma(l, alpha, tree32(p, unseen +0)); o = rn(o * alpha), then o = fma(p, v, o), keys
//   ascending
//
// Every (query, key) has a dot of its own and every (query, dimension) a sum of its own, so that
// how many of them lie in registers together is free: a vector of keys or values is loaded, and
// widened from its storage, once for `kQueryGroup` queries.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/simd/lanes.h"

namespace {

constexpr int64_t kTileKeys = 32, kChunkKeys = 256;
constexpr int64_t kMaxHeadDim = 512; ///< the map's dimensions say so too
constexpr int64_t kMaxQueries = 64;

/// Queries that share the loads of keys and values.
constexpr int64_t kQueryGroup = WRIT_ISA_LEVEL == 2 ? 4 : 1;
/// Keys whose dots with Q queries lie in registers together; a divisor of 16. Where there are
/// registers enough, as many as make the 16 dots whose trees are made together.
template <int64_t Q> constexpr int64_t kKeyGroup = WRIT_ISA_LEVEL == 2 ? kLanes / Q : 4;
constexpr int64_t kSlices = 4; ///< of 16 dimensions, accumulated together
constexpr int64_t kCacheLine = 64;

/// Online-softmax state of one query over one range of keys.
struct SoftmaxState {
  float maximum, sum;
  float *values; ///< [head_dim]
};

/// Keys [begin, end), counted from a tile's start or by position.
struct KeyRange {
  int64_t begin, end;
  bool operator==(const KeyRange &other) const { return begin == other.begin && end == other.end; }
};

/// Where the vectors of a tile's keys and values lie. Each can be read; those of keys that nobody
/// sees hold anything.
struct TileRows {
  const void *k[kTileKeys], *v[kTileKeys];
};

/// A tile's keys and values in binary32, [32][head_dim] each.
struct TileData {
  alignas(64) float k[kTileKeys * kMaxHeadDim];
  alignas(64) float v[kTileKeys * kMaxHeadDim];
};

inline void fillUnseen(KeyRange seen, float value, float *scores) {
  for (int64_t j = 0; j < seen.begin; ++j)
    scores[j] = value;
  for (int64_t j = seen.end; j < kTileKeys; ++j)
    scores[j] = value;
}

/// The lines of the tile that follows, asked for while this one is worked on: in the order of their
/// addresses, so that the processor's own prefetching joins in, and a few at a time, as many as
/// memory gives meanwhile.
struct RowsAhead {
  const TileRows *rows; ///< of the block's first KV head; null: nothing follows
  int64_t bytes;        ///< of the block's KV heads
  int64_t each;         ///< lines of keys, and as many of values, in one go
  int64_t key = 0, line = 0;

  void ask() {
    if (!rows)
      return;
    for (int64_t i = 0; i < each && key < kTileKeys; ++i) {
      __builtin_prefetch(at<char>(rows->k[key], line));
      __builtin_prefetch(at<char>(rows->v[key], line));
      line += kCacheLine;
      if (line >= bytes) {
        line = 0;
        ++key;
      }
    }
  }
};
constexpr int64_t kAskKeys = 8; ///< keys or values after which to ask

/// dots[i * K + j] = the lanes of dot(q[i], key j), K keys of Q queries.
template <typename Rows, int64_t Q, int64_t K>
inline void keyDots(const float *const *q, const void *const *keys, int64_t headDim, Lanes *dots) {
  Lanes acc[Q * K];
#pragma GCC unroll 16
  for (int64_t n = 0; n < Q * K; ++n)
    acc[n] = zero();
  const void *key[K];
#pragma GCC unroll 16
  for (int64_t j = 0; j < K; ++j)
    key[j] = keys[j];
  for (int64_t d = 0; d < headDim; d += kLanes) {
    Lanes x[Q];
#pragma GCC unroll 4
    for (int64_t i = 0; i < Q; ++i)
      x[i] = load(q[i] + d);
#pragma GCC unroll 16
    for (int64_t j = 0; j < K; ++j) {
      const Lanes k = Rows::values(key[j], d);
#pragma GCC unroll 4
      for (int64_t i = 0; i < Q; ++i)
        acc[i * K + j] = fma(x[i], k, acc[i * K + j]);
    }
  }
#pragma GCC unroll 16
  for (int64_t n = 0; n < Q * K; ++n)
    dots[n] = acc[n];
}

/// scores[i][j] = rn(dot(q[i], key j) * scale) for the keys j that are in `seen`, anything for the
/// others, of Q queries. The trees of 16 dots are made together as soon as there are 16: their
/// shuffles run beside the multiplications of the next.
template <typename Rows, int64_t Q>
inline void tileScores(const float *const *q, const TileRows &rows, int64_t headDim, KeyRange seen,
                       float scale, float *const *scores, RowsAhead &ahead) {
  constexpr int64_t K = kKeyGroup<Q>, kTreeKeys = Q == 1 ? kLanes : K;
  const Lanes factor = broadcast(scale);
  for (int64_t first = 0; first < kTileKeys; first += kTreeKeys) {
    if (first >= seen.end || first + kTreeKeys <= seen.begin)
      continue;
    Lanes dots[kLanes];
#pragma GCC unroll 4
    for (int64_t group = 0; group < kTreeKeys; group += K) {
      for (int64_t asked = 0; asked < K; asked += kAskKeys)
        ahead.ask();
      keyDots<Rows, Q, K>(q, rows.k + first + group, headDim, dots + group);
    }
    if constexpr (Q == 1) {
      store(mul(treeSums(dots), factor), scores[0] + first);
    } else {
      alignas(64) float products[kLanes];
      store(mul(treeSums(dots), factor), products);
#pragma GCC unroll 4
      for (int64_t i = 0; i < Q; ++i)
        __builtin_memcpy(scores[i] + first, products + i * K, K * sizeof(float));
    }
  }
}

/// tileScores for `queries` in 1 .. Q.
template <typename Rows, int64_t Q>
inline void tileScoresOf(int64_t queries, const float *const *q, const TileRows &rows,
                         int64_t headDim, KeyRange seen, float scale, float *const *scores,
                         RowsAhead &ahead) {
  if constexpr (Q > 1)
    if (queries < Q)
      return tileScoresOf<Rows, Q - 1>(queries, q, rows, headDim, seen, scale, scores, ahead);
  if constexpr (kLanes % Q == 0) {
    tileScores<Rows, Q>(q, rows, headDim, seen, scale, scores, ahead);
  } else { // 16 dots are no whole number of keys
    tileScores<Rows, Q - 1>(q, rows, headDim, seen, scale, scores, ahead);
    tileScores<Rows, 1>(q + Q - 1, rows, headDim, seen, scale, scores + Q - 1, ahead);
  }
}

/// Turns scores into p in place, moves the state's maximum and sum, and returns alpha.
inline float tileSoftmax(float *scores, KeyRange seen, SoftmaxState &state) {
  fillUnseen(seen, -kInfinity, scores);
  const Lanes a = load(scores), b = load(scores + kLanes);
  const float most = greatest(maximum(a, b));
  const float maximumNow = most > state.maximum ? most : state.maximum;
  const Lanes shift = broadcast(maximumNow);
  store(expLanes(sub(a, shift)), scores);
  store(expLanes(sub(b, shift)), scores + kLanes);
  fillUnseen(seen, 0.0f, scores);
  const float fall = state.maximum - maximumNow; // a NaN where both are -inf
  const float alpha = fall == 0.0f ? 1.0f : expF32(fall);
  const float sum = treeSum(add(load(scores), load(scores + kLanes)));
  state.sum = __builtin_fmaf(state.sum, alpha, sum);
  state.maximum = maximumNow;
  return alpha;
}

/// o = rn(o * alpha), then fma over `keys`, for Q queries and S slices of 16 dimensions from d on.
template <typename Rows, int64_t Q, int64_t S>
inline void addValues(const TileRows &rows, int64_t d, KeyRange keys, const float *const *p,
                      const float *alpha, float *const *out, RowsAhead &ahead) {
  Lanes acc[Q][S];
#pragma GCC unroll 4
  for (int64_t q = 0; q < Q; ++q)
#pragma GCC unroll 4
    for (int64_t s = 0; s < S; ++s)
      acc[q][s] = mul(load(out[q] + d + s * kLanes), broadcast(alpha[q]));
  for (int64_t j = keys.begin; j < keys.end; ++j) {
    if (j % kAskKeys == 0)
      ahead.ask();
#pragma GCC unroll 4
    for (int64_t s = 0; s < S; ++s) {
      const Lanes v = Rows::values(rows.v[j], d + s * kLanes);
#pragma GCC unroll 4
      for (int64_t q = 0; q < Q; ++q)
        acc[q][s] = fma(broadcast(p[q][j]), v, acc[q][s]);
    }
  }
#pragma GCC unroll 4
  for (int64_t q = 0; q < Q; ++q)
#pragma GCC unroll 4
    for (int64_t s = 0; s < S; ++s)
      store(acc[q][s], out[q] + d + s * kLanes);
}

/// The values of `queries` in 1 .. Q, over the same keys of the tile.
template <typename Rows, int64_t Q>
inline void tileValues(int64_t queries, const TileRows &rows, int64_t headDim, KeyRange keys,
                       const float *const *p, const float *alpha, float *const *out,
                       RowsAhead &ahead) {
  if constexpr (Q > 1)
    if (queries < Q)
      return tileValues<Rows, Q - 1>(queries, rows, headDim, keys, p, alpha, out, ahead);
  int64_t d = 0;
  for (; d + kSlices * kLanes <= headDim; d += kSlices * kLanes)
    addValues<Rows, Q, kSlices>(rows, d, keys, p, alpha, out, ahead);
  for (; d < headDim; d += kLanes)
    addValues<Rows, Q, 1>(rows, d, keys, p, alpha, out, ahead);
}

/// The values of up to kQueryGroup queries, each over the keys that it sees: those that all see
/// together, what comes before and after for each alone.
template <typename Rows>
inline void groupValues(int64_t queries, const TileRows &rows, int64_t headDim,
                        const KeyRange *seen, const float *const *p, float *alpha,
                        float *const *out, RowsAhead &ahead) {
  KeyRange shared = seen[0];
  for (int64_t i = 1; i < queries; ++i)
    shared = {seen[i].begin > shared.begin ? seen[i].begin : shared.begin,
              least(seen[i].end, shared.end)};
  const auto alone = [&](int64_t i, KeyRange keys) {
    tileValues<Rows, 1>(1, rows, headDim, keys, p + i, alpha + i, out + i, ahead);
    alpha[i] = 1.0f; // o is scaled once
  };
  const bool apart = shared.begin >= shared.end;
  for (int64_t i = 0; i < queries; ++i)
    if (apart)
      alone(i, seen[i]);
    else if (seen[i].begin < shared.begin)
      alone(i, {seen[i].begin, shared.begin});
  if (apart)
    return;
  tileValues<Rows, kQueryGroup>(queries, rows, headDim, shared, p, alpha, out, ahead);
  for (int64_t i = 0; i < queries; ++i)
    if (seen[i].end > shared.end) {
      alpha[i] = 1.0f;
      alone(i, {shared.end, seen[i].end});
    }
}

inline void startRange(SoftmaxState &state, int64_t headDim) {
  state.maximum = -kInfinity;
  state.sum = 0.0f;
  for (int64_t d = 0; d < headDim; d += kLanes)
    store(zero(), state.values + d);
}

/// total = total merged with the next chunk's state.
inline void mergeChunk(SoftmaxState &total, const SoftmaxState &chunk, int64_t headDim) {
  const float most = chunk.maximum > total.maximum ? chunk.maximum : total.maximum;
  const float a = expF32(total.maximum - most), b = expF32(chunk.maximum - most);
  total.sum = __builtin_fmaf(total.sum, a, chunk.sum * b);
  for (int64_t d = 0; d < headDim; d += kLanes)
    store(fma(load(total.values + d), broadcast(a), mul(load(chunk.values + d), broadcast(b))),
          total.values + d);
  total.maximum = most;
}

/// out = rn(o * rn(1 / l)).
inline void writeOutput(const SoftmaxState &total, int64_t headDim, float *out) {
  const Lanes inverse = broadcast(1.0f / total.sum);
  for (int64_t d = 0; d < headDim; d += kLanes)
    store(mul(load(total.values + d), inverse), out + d);
}

} // namespace
