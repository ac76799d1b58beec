// A faulty kernel for tests: its map claims a contract that rounds K and V through binary16, but it
// reads them as they are stored. Everything else is as the contract says.
#include "writ/kernels/attention_f32_raw_kv.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace {

/// exp_f32_v0 for arguments that are not positive.
float exponential(float x) {
  if (x < -0x1.9fe368p+6f)
    return 0;
  const float n = std::rint(x * 0x1.715476p+0f);
  const float r = std::fma(n, 0x1.05c610p-29f, std::fma(n, -0x1.62e430p-1f, x));
  float p = 0x1.6a2464p-10f;
  for (const float c : {0x1.1239e2p-7f, 0x1.5558f2p-5f, 0x1.555492p-3f, 0x1.fffffcp-2f, 1.0f, 1.0f})
    p = std::fma(p, r, c);
  return std::ldexp(p, static_cast<int>(n));
}

float dot(const float *a, const float *b, int64_t count) {
  float lanes[16] = {};
  for (int64_t i = 0; i < count; ++i)
    lanes[i % 16] = std::fma(a[i], b[i], lanes[i % 16]);
  for (int s = 8; s >= 1; s /= 2)
    for (int i = 0; i < s; ++i)
      lanes[i] = lanes[i] + lanes[i + s];
  return lanes[0];
}

struct Keys {
  const attention_f32_raw_kv_args &args;
  int64_t sequence, head; ///< of KV

  const float *at(const void *plane, int64_t position) const {
    const auto &view = *static_cast<const writ_kv_view *>(args.kv);
    const int64_t page =
        view.block_table[sequence * view.table_stride + position / view.block_size];
    const int64_t offset = args.layer * view.layer_stride + page * view.page_stride +
                           position % view.block_size * view.token_stride;
    return reinterpret_cast<const float *>(static_cast<const char *>(plane) + offset) +
           head * args.head_dim;
  }
};

void attend(const attention_f32_raw_kv_args &args, int64_t row, int64_t head) {
  const auto &view = *static_cast<const writ_kv_view *>(args.kv);
  const Keys keys{args, static_cast<const int32_t *>(args.sequence)[row],
                  head / (args.heads / args.kv_heads)};
  const int64_t at = (row * args.heads + head) * args.head_dim;
  const float *q = static_cast<const float *>(args.q) + at;
  std::vector<float> o(static_cast<size_t>(args.head_dim), 0.0f);
  float m = -INFINITY, l = 0;
  for (int64_t position = 0; position <= static_cast<const int32_t *>(args.position)[row];
       ++position) {
    const float product = dot(q, keys.at(view.k_plane, position), args.head_dim);
    const float score = product * args.scale;
    const float maximum = std::max(m, score);
    const float alpha = exponential(m - maximum), p = exponential(score - maximum);
    l = std::fma(l, alpha, p);
    const float *v = keys.at(view.v_plane, position);
    for (int64_t i = 0; i < args.head_dim; ++i) {
      const float rescaled = o[i] * alpha;
      o[i] = std::fma(p, v[i], rescaled);
    }
    m = maximum;
  }
  const float inverse = 1.0f / l;
  for (int64_t i = 0; i < args.head_dim; ++i)
    static_cast<float *>(args.out)[at + i] = o[i] * inverse;
}

} // namespace

extern "C" void attention_f32_raw_kv_scalar(const void *arguments, int64_t begin, int64_t end) {
  const auto &args = *static_cast<const attention_f32_raw_kv_args *>(arguments);
  for (int64_t unit = begin; unit < end; ++unit)
    attend(args, unit / args.heads, unit % args.heads);
}
