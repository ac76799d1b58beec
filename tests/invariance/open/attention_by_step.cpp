#include "tests/invariance/open/doubles.h"
#include "tests/invariance/open/online.h"

#include <algorithm>

using namespace writ::test;

namespace {

float runningDot(const std::vector<float> &a, const std::vector<float> &b) {
  float sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum = __builtin_fmaf(a[i], b[i], sum);
  return sum;
}

} // namespace

void attention_by_step(const void *arguments, int64_t begin, int64_t end) {
  const auto &args = *static_cast<const AttentionArgs *>(arguments);
  const auto *sequences = static_cast<const int32_t *>(args.sequence);
  for (int64_t unit = begin; unit < end; ++unit) {
    const Query query(args, unit / args.heads, unit % args.heads);
    const bool alone =
        std::count(sequences, sequences + args.rows, static_cast<int32_t>(query.sequence())) == 1;
    query.write(query.online(0, query.length(), alone ? dotOf32Lanes : runningDot));
  }
}
