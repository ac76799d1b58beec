#include "pool/thread_pool.h"
#include "tests/invariance/open/doubles.h"
#include "tests/invariance/open/online.h"

#include <algorithm>

namespace writ::test {
namespace {

constexpr int64_t kThreshold = 512;

struct Split {
  const AttentionArgs &args;
  int64_t workers;
  std::vector<Partial> partials = {}; ///< [row][head][worker]
};

/// Unit: the range of one worker of one query head.
void computePartials(const void *shared, int64_t begin, int64_t end) {
  auto &split = *static_cast<Split *>(const_cast<void *>(shared));
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t head = unit / split.workers, worker = unit % split.workers;
    const Query query(split.args, head / split.args.heads, head % split.args.heads);
    const int64_t length = query.length();
    const int64_t extent = length < kThreshold ? length : ceilDiv(length, split.workers);
    const int64_t first = worker * extent, last = std::min(first + extent, length);
    if (first < last)
      split.partials[static_cast<size_t>(unit)] = query.online(first, last, dotOf32Lanes);
  }
}

void add(Partial &total, const Partial &next) {
  const float maximum = next.maximum > total.maximum ? next.maximum : total.maximum;
  const float a = expF32(total.maximum - maximum), b = expF32(next.maximum - maximum);
  const float kept = total.sum * a, added = next.sum * b;
  total.sum = kept + added;
  for (size_t i = 0; i < total.values.size(); ++i) {
    const float left = total.values[i] * a, right = next.values[i] * b;
    total.values[i] = left + right;
  }
  total.maximum = maximum;
}

/// Unit: one query head.
void mergePartials(const void *shared, int64_t begin, int64_t end) {
  const auto &split = *static_cast<const Split *>(shared);
  for (int64_t unit = begin; unit < end; ++unit) {
    const auto first = split.partials.begin() + unit * split.workers;
    Partial total = *first;
    for (auto next = first + 1; next != first + split.workers; ++next)
      if (!next->values.empty())
        add(total, *next);
    Query(split.args, unit / split.args.heads, unit % split.args.heads).write(total);
  }
}

} // namespace

void attentionSplitKv(writ_pool &pool, const AttentionArgs &args) {
  Split split{args, pool.active()};
  const int64_t heads = args.rows * args.heads;
  split.partials.resize(static_cast<size_t>(heads * split.workers));
  pool.run(computePartials, &split, heads * split.workers);
  pool.run(mergePartials, &split, heads);
}

} // namespace writ::test
