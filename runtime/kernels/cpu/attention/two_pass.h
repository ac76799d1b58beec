//===- attention/two_pass.h - softmax over all scores, then the values ----===//
//
//   score_j = rn(dot(q, k_j) * scale), q rounded to binary16; where queries are scaled,
//   score_j = dot(q, k_j), rn(q * scale) rounded to binary16
//   m = the largest; p_j = exp(rn(score_j - m)), exp_f32_ggml_v0
//   l = the running sum in binary64 of the trees of 8 p, each at absolute positions
//   w_j = rn(p_j * rn(rn64(1 / l))), rounded to binary16; out = dot(w, v), the term of position j
//   in lane j mod 32
//
// A dot: 32 lanes of fma, merged by halves down to 4, then (0 + 1) + (2 + 3). q, out f32
// [rows][heads][head_dim]; query head h reads KV head h / (heads / kv_heads). No score is kept: the
// passes make them anew, so that nothing grows with the number of keys. A unit is one query, a head
// of a row, in the order of paged.h.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/functions_ggml.h"
#include "runtime/kernels/cpu/kv.h"

namespace {

enum class Scaled { scores, queries };

constexpr int64_t kDotLanes = 32, kSumSlots = 8, kMostHeadDim = 512;

/// Lane i at lanes[i * stride].
inline float mergeDot(const float *lanes, int64_t stride = 1) {
  float v[kDotLanes];
  for (int64_t i = 0; i < kDotLanes; ++i)
    v[i] = lanes[i * stride];
  for (int64_t s = kDotLanes / 2; s >= 4; s /= 2)
    for (int64_t i = 0; i < s; ++i)
      v[i] = v[i] + v[i + s];
  return (v[0] + v[1]) + (v[2] + v[3]);
}

/// One query over the positions [begin, end) of its sequence.
template <Scaled scaled, typename Args> struct TwoPassQuery {
  const Args &args;
  int64_t sequence, kvHead, begin, end;
  const float *q; ///< as the score takes it
  float maximum = -kInfinity, inverse = 0.0f;

  const uint16_t *at(const void *plane, int64_t position) const {
    const auto &view = *static_cast<const writ_kv_view *>(args.kv);
    return ::at<uint16_t>(plane,
                          tokenOffset(view, args.layer, sequence, position) +
                              kvHead * args.head_dim * static_cast<int64_t>(sizeof(uint16_t)));
  }

  float score(int64_t position) const {
    const auto &view = *static_cast<const writ_kv_view *>(args.kv);
    const uint16_t *k = at(view.k_plane, position);
    float lanes[kDotLanes] = {};
    for (int64_t d = 0; d < args.head_dim; d += kDotLanes)
      for (int64_t lane = 0; lane < kDotLanes; ++lane)
        lanes[lane] = __builtin_fmaf(q[d + lane], floatFromHalf(k[d + lane]), lanes[lane]);
    const float dot = mergeDot(lanes);
    return scaled == Scaled::queries ? dot : dot * args.scale;
  }

  void findMaximum() {
    for (int64_t position = begin; position < end; ++position) {
      const float s = score(position);
      maximum = s > maximum ? s : maximum;
    }
  }

  void findSum() {
    double sum = 0;
    for (int64_t first = begin / kSumSlots * kSumSlots; first < end; first += kSumSlots) {
      float p[kSumSlots] = {};
      for (int64_t slot = 0; slot < kSumSlots; ++slot)
        if (first + slot >= begin && first + slot < end)
          p[slot] = expF32Ggml(score(first + slot) - maximum);
      for (int64_t s = kSumSlots / 2; s >= 1; s /= 2)
        for (int64_t i = 0; i < s; ++i)
          p[i] = p[i] + p[i + s];
      sum += static_cast<double>(p[0]);
    }
    inverse = static_cast<float>(1.0 / sum);
  }

  void addValues(float (*values)[kMostHeadDim]) const {
    const auto &view = *static_cast<const writ_kv_view *>(args.kv);
    for (int64_t position = begin; position < end; ++position) {
      const float p = expF32Ggml(score(position) - maximum);
      const float weight = floatFromHalf(halfFromFloat(p * inverse));
      const uint16_t *v = at(view.v_plane, position);
      float *sums = values[position % kDotLanes];
      for (int64_t d = 0; d < args.head_dim; ++d)
        sums[d] = __builtin_fmaf(weight, floatFromHalf(v[d]), sums[d]);
    }
  }
};

template <Scaled scaled, typename Args>
void attendTwoPass(const Args &args, int64_t window, int64_t begin, int64_t end) {
  const auto *position = static_cast<const int32_t *>(args.position);
  const auto *sequence = static_cast<const int32_t *>(args.sequence);
  const int64_t headDim = args.head_dim, group = args.heads / args.kv_heads;
  float q[kMostHeadDim], values[kDotLanes][kMostHeadDim]; // the terms of an element, lane by lane
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t kvHead = unit / group / args.rows, row = unit / group % args.rows;
    const int64_t first = (row * args.heads + kvHead * group + unit % group) * headDim;
    const float *from = static_cast<const float *>(args.q) + first;
    for (int64_t d = 0; d < headDim; ++d) {
      const float element = scaled == Scaled::queries ? from[d] * args.scale : from[d];
      q[d] = floatFromHalf(halfFromFloat(element));
      for (auto &lane : values)
        lane[d] = 0.0f;
    }
    const int64_t keys = position[row] + 1;
    TwoPassQuery<scaled, Args> query{
        args, sequence[row], kvHead, keys > window ? keys - window : 0, keys, q};
    query.findMaximum();
    query.findSum();
    query.addValues(values);
    auto *out = static_cast<float *>(args.out) + first;
    for (int64_t d = 0; d < headDim; ++d)
      out[d] = mergeDot(values[0] + d, kMostHeadDim);
  }
}

} // namespace
