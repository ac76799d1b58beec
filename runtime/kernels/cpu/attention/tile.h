//===- attention/tile.h - one tile of 32 keys against a few queries -------===//
//
// The arithmetic of a tile, for queries that share a KV head:
//
//   score = rn(dot * scale), dot in 16 lanes over head_dim, one fma each, then their tree
//   m' = max(m, scores); alpha = exp(m - m'); p = exp(score - m')
//   l = fma(l, alpha, tree32(p, unseen +0)); o = rn(o * alpha), then o = fma(p, v, o), keys
//   ascending
//
// With a soft-cap, score = rn(cap * tanh(rn(score / cap))) before anything looks at it; with sinks,
// a score without a value is merged when all keys are (mergeSink).
//
// Every (query, key) has a dot of its own and every (query, dimension) a sum of its own, so that
// how many of them lie in registers together is free: a vector of keys or values is loaded, and
// widened from its storage, once for `kQueryGroup` queries.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/simd/lanes.h"
#include "runtime/kernels/cpu/simd/soft_cap.h"

#include <type_traits>

namespace {

constexpr int64_t kTileKeys = 32, kChunkKeys = 256;
constexpr int64_t kMaxHeadDim = 512; ///< the map's dimensions say so too
constexpr int64_t kMaxQueries = 64;

/// Queries that share the loads of keys and values.
constexpr int64_t kQueryGroup = WRIT_ISA_LEVEL == 2 ? 4 : 1;
/// Keys whose dots with Q queries lie in registers together; a divisor of 16. Where there are
/// registers enough, as many as make the 16 dots whose trees are made together.
template <int64_t Q> constexpr int64_t kKeyGroup = WRIT_ISA_LEVEL == 2 ? kLanes / Q : 4;
/// Slices of 16 dimensions of Q queries that are accumulated together; the smaller number where the
/// larger is too many.
template <int64_t Q> constexpr int64_t kSlices = WRIT_ISA_LEVEL == 2 && Q <= 2 ? 8 : 4;
constexpr int64_t kCacheLine = 64;

/// Online-softmax state of one query over one range of keys.
struct SoftmaxState {
  float maximum, sum;
  float *values; ///< [head_dim]
};

/// Keys [begin, end), counted from a tile's start or by position.
struct KeyRange {
  int64_t begin, end;
};

inline KeyRange bothOf(KeyRange a, KeyRange b) {
  return {a.begin > b.begin ? a.begin : b.begin, least(a.end, b.end)};
}

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

/// Lines to ask for in the middle of other work, a few in each turn.
struct Lines {
  const char *from;
  int32_t each; ///< bytes in one go, a multiple of a line
  int32_t skip; ///< bytes from there to the next go: a hint, which may be cut off

  __attribute__((always_inline)) void ask() {
    for (const char *to = from + each; from < to; from += kCacheLine)
      __builtin_prefetch(from);
    from += skip;
  }
};

/// Lines that were all asked for before, where they are few and the work is long.
struct NoLines {
  void ask() {}
};

/// The keys or values that come next, asked for while others are worked on: in the order of their
/// addresses, so that the processor's own prefetching joins in, and a few lines at a time, as many
/// as memory gives meanwhile.
class RowsAhead {
public:
  /// `rows`: [count] of the block's first KV head, `bytes` each; null: nothing follows. All are
  /// asked for in `calls` calls.
  RowsAhead(const void *const *rows, int64_t count, int64_t bytes, int64_t calls) : rows(rows) {
    if (!rows)
      return;
    const auto *first = static_cast<const char *>(rows[0]);
    const bool together = at<char>(rows[count - 1], 0) - first == (count - 1) * bytes;
    left = together ? 1 : count;
    ofRow = ceilDiv(together ? count * bytes : bytes, kCacheLine) * kCacheLine;
    rowsOfCall = ceilDiv(left, calls);
    ofCall = ceilDiv(ofRow / kCacheLine, rowsOfCall > 1 ? 1 : calls / left) * kCacheLine;
  }

  /// Those of one call, which asks `times` times; or asked for at once.
  template <typename L> L take(int64_t times) {
    constexpr bool atOnce = std::is_same_v<L, NoLines>;
    Lines lines{nullptr, 0, 0};
    if (left > 0 && rowsOfCall > 1) {
      const int64_t count = least(rowsOfCall, left), now = atOnce ? count : count - times;
      for (int64_t i = 0; i < now; ++i)
        Lines{at<char>(rows[i], 0), static_cast<int32_t>(ofRow), 0}.ask();
      if (now < count) { // the rows of a page are equally far from each other
        const int64_t first = now > 0 ? now : 0;
        const auto *from = at<char>(rows[first], 0);
        const int64_t next = first + 1 < left ? at<char>(rows[first + 1], 0) - from : ofRow;
        lines = {from, static_cast<int32_t>(ofRow), static_cast<int32_t>(next - ofRow)};
      }
      rows += count;
      left -= count;
    } else if (left > 0) {
      const int64_t bytes = least(ofCall, ofRow - done);
      const int64_t each = ceilDiv(bytes / kCacheLine, atOnce ? 1 : times) * kCacheLine;
      lines = {at<char>(*rows, done), static_cast<int32_t>(each), 0};
      done += bytes;
      if (done >= ofRow) {
        done = 0;
        ++rows;
        --left;
      }
    }
    if constexpr (atOnce) {
      lines.ask();
      return {};
    } else {
      return lines;
    }
  }

private:
  const void *const *rows;
  int64_t left = 0;       ///< rows
  int64_t ofRow = 0;      ///< bytes
  int64_t rowsOfCall = 1; ///< more than one where the calls are fewer
  int64_t ofCall = 0;     ///< bytes, where they are not
  int64_t done = 0;       ///< bytes of the row at hand
};

/// dots[i * K + j] = the lanes of dot(q[i], key j), K keys of Q queries.
template <typename Rows, int64_t Q, int64_t K, typename L>
__attribute__((always_inline)) inline void keyDots(const float *const *q, const void *const *keys,
                                                   int64_t ofHead, int64_t headDim, L &ahead,
                                                   Lanes *dots) {
  Lanes acc[Q * K];
#pragma GCC unroll 16
  for (int64_t n = 0; n < Q * K; ++n)
    acc[n] = zero();
  const void *key[K];
#pragma GCC unroll 16
  for (int64_t j = 0; j < K; ++j)
    key[j] = at<char>(keys[j], ofHead);
  const float *query[Q];
#pragma GCC unroll 4
  for (int64_t i = 0; i < Q; ++i)
    query[i] = q[i];
  for (int64_t d = 0; d < headDim; d += kLanes) {
    ahead.ask();
    Lanes x[Q];
#pragma GCC unroll 4
    for (int64_t i = 0; i < Q; ++i)
      x[i] = load(query[i] + d);
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

/// scores[i][j] = rn(dot(q[i], key j) * scale) of Q queries and as many keys as make 16 dots, whose
/// trees are made together. A function of its own: what surrounds it needs registers, too.
template <typename Rows, int64_t Q, typename L>
__attribute__((noinline)) void treeScores(const float *const *q, const void *const *keys,
                                          int64_t ofHead, int64_t headDim, float scale,
                                          float *const *scores, int64_t first, L ahead) {
  constexpr int64_t K = kKeyGroup<Q>, kTreeKeys = kLanes / Q;
  static_assert(Q == 1 || K == kTreeKeys);
  Lanes dots[kLanes];
#pragma GCC unroll 4
  for (int64_t group = 0; group < kTreeKeys; group += K)
    keyDots<Rows, Q, K>(q, keys + group, ofHead, headDim, ahead, dots + group);
  const Lanes products = mul(treeSums(dots), broadcast(scale));
  if constexpr (Q == 1) {
    store(products, scores[0] + first);
  } else {
    alignas(64) float all[kLanes];
    store(products, all);
#pragma GCC unroll 4
    for (int64_t i = 0; i < Q; ++i)
      __builtin_memcpy(scores[i] + first, all + i * K, K * sizeof(float));
  }
}

/// The scores of Q queries and the keys in `keys`, which the rows hold to the next multiple of
/// kLanes / Q, too.
template <typename Rows, int64_t Q, typename L>
inline void keyScores(const float *const *q, const void *const *rows, int64_t ofHead,
                      int64_t headDim, KeyRange keys, float scale, float *const *scores,
                      RowsAhead &ahead) {
  for (int64_t tree = keys.begin / (kLanes / Q) * (kLanes / Q); tree < keys.end; tree += kLanes / Q)
    treeScores<Rows, Q, L>(q, rows + tree, ofHead, headDim, scale, scores, tree,
                           ahead.take<L>(kLanes / Q / kKeyGroup<Q> * headDim / kLanes));
}

/// keyScores for `queries` in 1 .. Q.
template <typename Rows, int64_t Q, typename L>
inline void keyScoresOf(int64_t queries, const float *const *q, const void *const *rows,
                        int64_t ofHead, int64_t headDim, KeyRange keys, float scale,
                        float *const *scores, RowsAhead &ahead) {
  if constexpr (Q > 1)
    if (queries < Q)
      return keyScoresOf<Rows, Q - 1, L>(queries, q, rows, ofHead, headDim, keys, scale, scores,
                                         ahead);
  if constexpr (kLanes % Q == 0) {
    keyScores<Rows, Q, L>(q, rows, ofHead, headDim, keys, scale, scores, ahead);
  } else { // 16 dots are no whole number of keys
    keyScores<Rows, Q - 1, L>(q, rows, ofHead, headDim, keys, scale, scores, ahead);
    keyScores<Rows, 1, L>(q + Q - 1, rows, ofHead, headDim, keys, scale, scores + Q - 1, ahead);
  }
}

/// What a kernel does with a score after its scale: nothing, or the soft-cap.
struct NoCap {
  void apply(float *) const {}
};
struct SoftCap {
  float cap;

  /// Those of keys that nobody sees, too: they hold anything, and are overwritten.
  void apply(float *scores) const {
    for (int64_t j = 0; j < kTileKeys; j += kLanes)
      store(capLanes(load(scores + j), cap), scores + j);
  }
};

/// Turns the scores of 1 .. 16 queries into p in place, moves their maxima and sums (lane i: query
/// i), and returns alpha.
template <typename Cap>
inline Lanes tileSoftmax(int64_t queries, float (*scores)[kTileKeys], const KeyRange *seen, Cap cap,
                         Lanes &maxima, Lanes &sums) {
  Lanes v[kLanes];
  for (int64_t i = 0; i < queries; ++i) {
    cap.apply(scores[i]);
    fillUnseen(seen[i], -kInfinity, scores[i]);
    v[i] = maximum(load(scores[i]), load(scores[i] + kLanes));
  }
  for (int64_t i = queries; i < kLanes; ++i)
    v[i] = zero();
  const Lanes now = maximum(greatests(v), maxima);
  alignas(64) float shift[kLanes];
  store(now, shift);
  for (int64_t i = 0; i < queries; ++i) {
    const Lanes by = broadcast(shift[i]);
    Lanes a = expLanes(sub(load(scores[i]), by)), b = expLanes(sub(load(scores[i] + kLanes), by));
    store(a, scores[i]);
    store(b, scores[i] + kLanes);
    if (seen[i].begin > 0 || seen[i].end < kTileKeys) {
      fillUnseen(seen[i], 0.0f, scores[i]); // where all are -inf, those are NaN
      a = load(scores[i]);
      b = load(scores[i] + kLanes);
    }
    v[i] = add(a, b);
  }
  const Lanes alpha = expLanes(sub(maxima, now)); // a NaN where both are -inf
  sums = fma(sums, alpha, treeSums(v));
  maxima = now;
  return alpha;
}

/// o = rn(o * alpha), then fma over `keys`, for Q queries and S slices of 16 dimensions from d on.
template <typename Rows, int64_t Q, int64_t S, typename L>
__attribute__((noinline)) void addValues(const void *const *rows, int64_t ofHead, int64_t d,
                                         KeyRange keys, const float *const *p, const float *alpha,
                                         float *const *out, L ahead) {
  Lanes acc[Q][S];
  float *to[Q];
  const float *weights[Q];
#pragma GCC unroll 4
  for (int64_t q = 0; q < Q; ++q) {
    to[q] = out[q] + d;
    weights[q] = p[q];
#pragma GCC unroll 8
    for (int64_t s = 0; s < S; ++s)
      acc[q][s] = mul(load(to[q] + s * kLanes), broadcast(alpha[q]));
  }
  // several slices start at a whole block of any storage
  const int64_t before = S > 1 ? ofHead + Rows::bytes(d) : ofHead, inRow = S > 1 ? 0 : d;
  for (int64_t j = keys.begin; j < keys.end; ++j) {
    ahead.ask();
    const void *row = at<char>(rows[j], before);
#pragma GCC unroll 8
    for (int64_t s = 0; s < S; ++s) {
      const Lanes v = Rows::values(row, inRow + s * kLanes);
#pragma GCC unroll 4
      for (int64_t q = 0; q < Q; ++q)
        acc[q][s] = fma(broadcast(weights[q][j]), v, acc[q][s]);
    }
  }
#pragma GCC unroll 4
  for (int64_t q = 0; q < Q; ++q)
#pragma GCC unroll 8
    for (int64_t s = 0; s < S; ++s)
      store(acc[q][s], to[q] + s * kLanes);
}

/// The values of `queries` in 1 .. Q, over the same keys of the tile.
template <typename Rows, int64_t Q, typename L>
inline void tileValues(int64_t queries, const void *const *rows, int64_t ofHead, int64_t headDim,
                       KeyRange keys, const float *const *p, const float *alpha, float *const *out,
                       RowsAhead &ahead) {
  if constexpr (Q > 1)
    if (queries < Q)
      return tileValues<Rows, Q - 1, L>(queries, rows, ofHead, headDim, keys, p, alpha, out, ahead);
  int64_t d = 0;
  for (; d + kSlices<Q> * kLanes <= headDim; d += kSlices<Q> * kLanes)
    addValues<Rows, Q, kSlices<Q>, L>(rows, ofHead, d, keys, p, alpha, out,
                                      ahead.take<L>(keys.end - keys.begin));
  for (; d + 4 * kLanes <= headDim; d += 4 * kLanes)
    addValues<Rows, Q, 4, L>(rows, ofHead, d, keys, p, alpha, out,
                             ahead.take<L>(keys.end - keys.begin));
  for (; d < headDim; d += kLanes)
    addValues<Rows, Q, 1, L>(rows, ofHead, d, keys, p, alpha, out,
                             ahead.take<L>(keys.end - keys.begin));
}

/// Calls of addValues by groupValues, where all queries see all of the keys.
inline int64_t callsOfValues(int64_t queries, int64_t headDim) {
  const int64_t wide = (queries <= 2 ? kSlices<2> : kSlices<4>)*kLanes, rest = headDim % wide;
  return headDim / wide + rest / (4 * kLanes) + rest % (4 * kLanes) / kLanes;
}

/// The values in `keys` of up to kQueryGroup queries, each over the keys that it sees: those that
/// all see together, what comes before and after for each alone. alpha becomes 1: o is scaled once.
template <typename Rows, typename L>
inline void groupValues(int64_t queries, const void *const *rows, int64_t ofHead, int64_t headDim,
                        KeyRange keys, const KeyRange *seen, const float *const *p, float *alpha,
                        float *const *out, RowsAhead &ahead) {
  KeyRange shared = keys;
  for (int64_t i = 0; i < queries; ++i)
    shared = bothOf(shared, seen[i]);
  const auto alone = [&](int64_t i, KeyRange range) {
    if (range.begin >= range.end)
      return;
    tileValues<Rows, 1, L>(1, rows, ofHead, headDim, range, p + i, alpha + i, out + i, ahead);
    alpha[i] = 1.0f;
  };
  if (shared.begin >= shared.end) {
    for (int64_t i = 0; i < queries; ++i)
      alone(i, bothOf(keys, seen[i]));
    return;
  }
  for (int64_t i = 0; i < queries; ++i)
    alone(i, bothOf(keys, {seen[i].begin, shared.begin}));
  tileValues<Rows, kQueryGroup, L>(queries, rows, ofHead, headDim, shared, p, alpha, out, ahead);
  for (int64_t i = 0; i < queries; ++i) {
    alpha[i] = 1.0f;
    alone(i, bothOf(keys, {shared.end, seen[i].end}));
  }
}

inline void startRange(float *values, int64_t headDim) {
  for (int64_t d = 0; d < headDim; d += kLanes)
    store(zero(), values + d);
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

/// total = total merged with a score that has no value.
inline void mergeSink(SoftmaxState &total, float sink, int64_t headDim) {
  const float most = sink > total.maximum ? sink : total.maximum;
  const float a = expF32(total.maximum - most), b = expF32(sink - most);
  total.sum = __builtin_fmaf(total.sum, a, b);
  for (int64_t d = 0; d < headDim; d += kLanes)
    store(mul(load(total.values + d), broadcast(a)), total.values + d);
  total.maximum = most;
}

/// out = rn(o * rn(1 / l)).
inline void writeOutput(const SoftmaxState &total, int64_t headDim, float *out) {
  const Lanes inverse = broadcast(1.0f / total.sum);
  for (int64_t d = 0; d < headDim; d += kLanes)
    store(mul(load(total.values + d), inverse), out + d);
}

} // namespace
