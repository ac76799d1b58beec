// out[r] = rn(rn(l - max) - log S), l the logit of the row's token, S = 64 lanes of exp(rn(l_i -
// max)). The argument block is writ_log_probability_args. A token outside of the vocabulary gives
// NaN.
#include "writ/kernels/log_probability_f32.h"
#include "runtime/kernels/cpu/simd/lanes.h"
#include "writ/model_abi.h"

static_assert(sizeof(log_probability_f32_args) == sizeof(writ_log_probability_args));

namespace {

float greatestOf(const float *logits, int64_t count) {
  Lanes best = broadcast(-kInfinity);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    best = maximum(load(logits + i), best);
  float result = greatest(best);
  for (; i < count; ++i)
    result = logits[i] > result ? logits[i] : result;
  return result;
}

/// exp of up to 64 elements; those beyond `count` are +0, which a sum of positive terms does not
/// see.
float sumOfExponentials(const float *logits, int64_t count, float most) {
  Lanes lane[4] = {zero(), zero(), zero(), zero()};
  const Lanes shift = broadcast(most);
  int64_t i = 0;
  for (; i + 64 <= count; i += 64)
    for (int64_t j = 0; j < 4; ++j)
      lane[j] = add(lane[j], expLanes(sub(load(logits + i + j * kLanes), shift)));
  if (i < count) {
    alignas(64) float rest[64] = {};
    for (int64_t j = 0; j < count - i; ++j)
      rest[j] = expF32(logits[i + j] - most);
    for (int64_t j = 0; j < 4; ++j)
      lane[j] = add(lane[j], load(rest + j * kLanes));
  }
  return treeSum(add(add(lane[0], lane[2]), add(lane[1], lane[3])));
}

} // namespace

WRIT_BODY(log_probability_f32) {
  const auto &args = *static_cast<const writ_log_probability_args *>(arguments);
  for (int64_t row = begin; row < end; ++row) {
    const float *logits = args.logits + row * args.vocabulary;
    const int64_t token = args.token[row];
    if (token < 0 || token >= args.vocabulary) {
      args.out[row] = kNaN;
      continue;
    }
    const float most = greatestOf(logits, args.vocabulary);
    const float sum = sumOfExponentials(logits, args.vocabulary, most);
    args.out[row] = (logits[token] - most) - logF32(sum);
  }
}
