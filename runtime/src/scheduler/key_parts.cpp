#include "scheduler/key_parts.h"

#include <algorithm>

namespace writ {
namespace {

/// More rows give each thread whole queries enough; their states would take more room, too.
constexpr size_t kMostRows = 4;
/// Keys of one part, about: a chunk of the contracts that can be divided.
constexpr int64_t kPartKeys = 256;
/// K and V of the rows together: less of them, some 15 microseconds of one core, is not worth the
/// second barrier.
constexpr int64_t kLeastBytes = 384 << 10;

} // namespace

int64_t keyParts(const writ_kv_group &group, std::span<const int32_t> position, int threads) {
  if (threads < 2 || position.empty() || position.size() > kMostRows)
    return 1;
  int64_t longest = 0, all = 0;
  for (const int32_t at : position) {
    const int64_t keys =
        group.window > 0 ? std::min(int64_t(at) + 1, group.window) : int64_t(at) + 1;
    longest = std::max(longest, keys);
    all += keys;
  }
  if (all * 2 * group.kv_heads * group.row_bytes < kLeastBytes)
    return 1;
  return std::max<int64_t>(1, longest / kPartKeys);
}

} // namespace writ
