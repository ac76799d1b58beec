// Attention as ggml's flash attention has it on one range of keys: the query rounded to binary16,
// key by key, the value sums rounded to binary16 after each update.
#pragma once

#include "runtime/kernels/cpu/body.h"
#include "runtime/kernels/cpu/convert.h"
#include "writ/kernels/attention_f16_tiles32_chunks256.h"

#include <vector>

namespace writ::test {
namespace {

using AttentionArgs = attention_f16_tiles32_chunks256_args;

inline float half(float value) {
  return floatFromHalf(halfFromFloat(value));
}

/// m, l and o of one range of keys.
struct Partial {
  float maximum = -kInfinity, sum = 0;
  std::vector<float> values;
};

/// One query head of one row.
class Query {
public:
  Query(const AttentionArgs &args, int64_t row, int64_t head)
      : args(args), view(*static_cast<const writ_kv_view *>(args.kv)), row(row), head(head),
        kvHead(head / (args.heads / args.kv_heads)) {
    const auto *q = static_cast<const float *>(args.q) + place();
    for (int64_t i = 0; i < args.head_dim; ++i)
      rounded.push_back(half(q[i]));
  }

  int64_t length() const { return static_cast<const int32_t *>(args.position)[row] + 1; }
  int64_t sequence() const { return static_cast<const int32_t *>(args.sequence)[row]; }
  float *out() const { return static_cast<float *>(args.out) + place(); }

  /// Keys [begin, end); `dot` is of the query and a key.
  template <typename Dot> Partial online(int64_t begin, int64_t end, Dot dot) const {
    Partial partial;
    partial.values.assign(static_cast<size_t>(args.head_dim), 0.0f);
    for (int64_t position = begin; position < end; ++position) {
      const float product = dot(rounded, stored(view.k_plane, position));
      const float score = product * args.scale;
      const float maximum = score > partial.maximum ? score : partial.maximum;
      const float alpha = expF32(partial.maximum - maximum), weight = expF32(score - maximum);
      const float kept = partial.sum * alpha;
      partial.sum = kept + weight;
      const std::vector<float> v = stored(view.v_plane, position);
      for (size_t i = 0; i < v.size(); ++i) {
        const float o = half(partial.values[i] * alpha);
        partial.values[i] = half(__builtin_fmaf(weight, v[i], o));
      }
      partial.maximum = maximum;
    }
    return partial;
  }
  void write(const Partial &total) const {
    const float inverse = 1.0f / total.sum;
    for (size_t i = 0; i < total.values.size(); ++i)
      out()[i] = total.values[i] * inverse;
  }

private:
  int64_t place() const { return (row * args.heads + head) * args.head_dim; }
  std::vector<float> stored(const void *plane, int64_t position) const {
    const int64_t page =
        view.block_table[sequence() * view.table_stride + position / view.block_size];
    const auto *at = reinterpret_cast<const uint16_t *>(
                         static_cast<const char *>(plane) + args.layer * view.layer_stride +
                         page * view.page_stride + position % view.block_size * view.token_stride) +
                     kvHead * args.head_dim;
    std::vector<float> values;
    for (int64_t i = 0; i < args.head_dim; ++i)
      values.push_back(floatFromHalf(at[i]));
    return values;
  }

  const AttentionArgs &args;
  const writ_kv_view &view;
  int64_t row, head, kvHead;
  std::vector<float> rounded;
};

/// 32 lanes, halved down to 4, then neighbours.
inline float dotOf32Lanes(const std::vector<float> &a, const std::vector<float> &b) {
  float lane[32] = {};
  for (size_t i = 0; i < a.size(); ++i)
    lane[i % 32] = __builtin_fmaf(a[i], b[i], lane[i % 32]);
  for (int s = 16; s >= 4; s /= 2)
    for (int i = 0; i < s; ++i)
      lane[i] = lane[i] + lane[i + s];
  const float first = lane[0] + lane[1], second = lane[2] + lane[3];
  return first + second;
}

} // namespace
} // namespace writ::test
