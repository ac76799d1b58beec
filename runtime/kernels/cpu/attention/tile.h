//===- attention/tile.h - one tile of 32 keys against a few queries -------===//
//
// The arithmetic of a tile, for queries that share a KV head:
//
//   score = rn(dot * scale), dot in 16 lanes over head_dim, one fma each, then their tree
//   m' = max(m, scores); alpha = exp(m - m'); p = exp(score - m')
//   l = fma(l, alpha, tree32(p, unseen +0)); o = rn(o * alpha), then o = fma(p, v, o), keys
//   ascending
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/simd/lanes.h"

namespace {

constexpr int64_t kTileKeys = 32, kChunkKeys = 256;
constexpr int64_t kMaxHeadDim = 512; ///< the map's dimensions say so too
constexpr int64_t kMaxQueries = 16;

/// Keys whose dots lie in registers together, and queries that share a value's loads.
constexpr int64_t kKeyGroup = WRIT_ISA_LEVEL == 2 ? 8 : 4;
constexpr int64_t kQueryGroup = WRIT_ISA_LEVEL == 2 ? 4 : 1;
constexpr int64_t kSlices = 4; ///< of 16 dimensions, accumulated together

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

/// scores[j] = rn(dot(q, key j) * scale) for the keys j that are seen; -inf for the others.
inline void tileScores(const float *q, const float *keys, int64_t headDim, KeyRange seen,
                       float scale, float *scores) {
  for (int64_t first = 0; first < kTileKeys; first += kLanes) {
    Lanes dots[kLanes];
    for (int64_t group = 0; group < kLanes; group += kKeyGroup) {
      Lanes acc[kKeyGroup];
      for (int64_t j = 0; j < kKeyGroup; ++j)
        acc[j] = zero();
      // unseen keys hold whatever the scratch held: their scores are overwritten below
      const float *key = keys + (first + group) * headDim;
      if (first + group < seen.end && first + group + kKeyGroup > seen.begin)
        for (int64_t d = 0; d < headDim; d += kLanes) {
          const Lanes x = load(q + d);
          for (int64_t j = 0; j < kKeyGroup; ++j)
            acc[j] = fma(x, load(key + j * headDim + d), acc[j]);
        }
      for (int64_t j = 0; j < kKeyGroup; ++j)
        dots[group + j] = acc[j];
    }
    store(mul(treeSums(dots), broadcast(scale)), scores + first);
  }
  fillUnseen(seen, -kInfinity, scores);
}

/// Turns scores into p in place, moves the state's maximum and sum, and returns alpha.
inline float tileSoftmax(float *scores, KeyRange seen, SoftmaxState &state) {
  const Lanes a = load(scores), b = load(scores + kLanes);
  const float most = greatest(maximum(a, b));
  const float maximumNow = most > state.maximum ? most : state.maximum;
  const Lanes shift = broadcast(maximumNow);
  store(expLanes(sub(a, shift)), scores);
  store(expLanes(sub(b, shift)), scores + kLanes);
  fillUnseen(seen, 0.0f, scores);
  const float alpha = expF32(state.maximum - maximumNow);
  const float sum = treeSum(add(load(scores), load(scores + kLanes)));
  state.sum = __builtin_fmaf(state.sum, alpha, sum);
  state.maximum = maximumNow;
  return alpha;
}

/// o = rn(o * alpha), then fma over the keys that are seen, for Q queries and S slices of 16
/// dimensions.
template <int64_t Q, int64_t S>
inline void addValues(const float *values, int64_t headDim, KeyRange seen, const float *const *p,
                      const float *alpha, float *const *out) {
  Lanes acc[Q][S];
  for (int64_t q = 0; q < Q; ++q)
    for (int64_t s = 0; s < S; ++s)
      acc[q][s] = mul(load(out[q] + s * kLanes), broadcast(alpha[q]));
  for (int64_t j = seen.begin; j < seen.end; ++j)
    for (int64_t s = 0; s < S; ++s) {
      const Lanes v = load(values + j * headDim + s * kLanes);
      for (int64_t q = 0; q < Q; ++q)
        acc[q][s] = fma(broadcast(p[q][j]), v, acc[q][s]);
    }
  for (int64_t q = 0; q < Q; ++q)
    for (int64_t s = 0; s < S; ++s)
      store(acc[q][s], out[q] + s * kLanes);
}

/// The values of Q queries that see the same keys of the tile.
template <int64_t Q>
inline void tileValues(const float *values, int64_t headDim, KeyRange seen, const float *const *p,
                       const float *alpha, float *const *out) {
  float *at[Q];
  int64_t d = 0;
  const auto move = [&] {
    for (int64_t q = 0; q < Q; ++q)
      at[q] = out[q] + d;
  };
  for (; d + kSlices * kLanes <= headDim; d += kSlices * kLanes) {
    move();
    addValues<Q, kSlices>(values + d, headDim, seen, p, alpha, at);
  }
  for (; d < headDim; d += kLanes) {
    move();
    addValues<Q, 1>(values + d, headDim, seen, p, alpha, at);
  }
}

/// tileValues for `queries` in 1 .. Q.
template <int64_t Q>
inline void tileValuesOf(int64_t queries, const float *values, int64_t headDim, KeyRange seen,
                         const float *const *p, const float *alpha, float *const *out) {
  if constexpr (Q > 1)
    if (queries < Q)
      return tileValuesOf<Q - 1>(queries, values, headDim, seen, p, alpha, out);
  tileValues<Q>(values, headDim, seen, p, alpha, out);
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

} // namespace
