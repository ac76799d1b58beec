// Causal attention over paged f16 keys and values, heads of at most 15 elements: a head is one
// group of 16 lanes, of which the last are +0.
//
//   q, out f32 [rows][heads][head_dim]; a query at position p sees the positions 0 .. p of its
//   sequence; query head h reads KV head h / (heads / kv_heads)
//
// Keys lie in tiles of 32 and chunks of 256 at absolute positions; chunks are merged ascending. A
// lane that holds no element adds fma(0, 0, +0) = +0 to a dot, as the contract's empty lanes do.
// A unit is one query head of one row: unit = row * heads + head.
#include "writ/kernels/attention_f16_small_heads.h"
#include "runtime/kernels/cpu/kv.h"
#include "runtime/kernels/cpu/simd/lanes.h"

namespace {

using Args = attention_f16_small_heads_args;

constexpr int64_t kTileKeys = 2 * kLanes, kChunkKeys = 256;

/// Online-softmax state over a range of keys.
struct State {
  float maximum = -kInfinity, sum = 0.0f;
  Lanes values = zero();
};

/// The keys, or the values, of one KV head of one sequence.
struct HeadPlane {
  const Args &args;
  const void *plane;
  int64_t sequence, head;

  /// The element vector of one position. Only what belongs to the head is read: the plane may end
  /// with it.
  Lanes at(int64_t position) const {
    const auto &view = *static_cast<const writ_kv_view *>(args.kv);
    const int64_t offset = tokenOffset(view, args.layer, sequence, position) +
                           head * args.head_dim * static_cast<int64_t>(sizeof(uint16_t));
    const uint16_t *from = ::at<uint16_t>(plane, offset);
    uint16_t halves[kLanes] = {};
    for (int64_t d = 0; d < args.head_dim; ++d)
      halves[d] = from[d];
    return loadHalf(halves);
  }
};

/// Adds the tile of the keys [first, first + seen) to the state.
void addTile(const HeadPlane &keys, const HeadPlane &values, Lanes q, int64_t first, int64_t seen,
             State &state) {
  float p[kTileKeys] = {}; // a key that the query does not see adds +0
  float maximumNow = state.maximum;
  for (int64_t j = 0; j < seen; ++j) {
    p[j] = treeSum(fma(q, keys.at(first + j), zero())) * keys.args.scale;
    maximumNow = p[j] > maximumNow ? p[j] : maximumNow;
  }
  for (int64_t j = 0; j < seen; ++j)
    p[j] = expF32(p[j] - maximumNow);
  const float alpha = expF32(state.maximum - maximumNow);
  state.sum = __builtin_fmaf(state.sum, alpha, treeSum(add(load(p), load(p + kLanes))));
  state.maximum = maximumNow;
  state.values = mul(state.values, broadcast(alpha));
  for (int64_t j = 0; j < seen; ++j)
    state.values = fma(broadcast(p[j]), values.at(first + j), state.values);
}

/// total = total merged with the state of the next chunk.
void merge(State &total, const State &chunk) {
  const float most = chunk.maximum > total.maximum ? chunk.maximum : total.maximum;
  const float a = expF32(total.maximum - most), b = expF32(chunk.maximum - most);
  total.sum = __builtin_fmaf(total.sum, a, chunk.sum * b);
  total.values = fma(total.values, broadcast(a), mul(chunk.values, broadcast(b)));
  total.maximum = most;
}

} // namespace

WRIT_BODY(attention_f16_small_heads) {
  const auto &args = *static_cast<const Args *>(arguments);
  const auto &view = *static_cast<const writ_kv_view *>(args.kv);
  const auto *position = static_cast<const int32_t *>(args.position);
  const auto *sequence = static_cast<const int32_t *>(args.sequence);
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t row = unit / args.heads, head = unit % args.heads;
    const int64_t kvHead = head / (args.heads / args.kv_heads);
    const HeadPlane keys{args, view.k_plane, sequence[row], kvHead};
    const HeadPlane values{args, view.v_plane, sequence[row], kvHead};
    const Lanes q =
        loadSome(static_cast<const float *>(args.q) + unit * args.head_dim, args.head_dim);
    const int64_t visible = position[row] + 1;
    State total;
    for (int64_t begins = 0; begins < visible; begins += kChunkKeys) {
      const int64_t ends = least(begins + kChunkKeys, visible);
      State chunk;
      for (int64_t first = begins; first < ends; first += kTileKeys)
        addTile(keys, values, q, first, least(kTileKeys, ends - first), chunk);
      if (begins == 0)
        total = chunk;
      else
        merge(total, chunk);
    }
    storeSome(mul(total.values, broadcast(1.0f / total.sum)),
              static_cast<float *>(args.out) + unit * args.head_dim, args.head_dim);
  }
}
