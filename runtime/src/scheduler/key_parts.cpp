#include "scheduler/key_parts.h"

#include <algorithm>

namespace writ {
namespace {

/// More rows give each thread whole queries enough; their states would take more room, too.
constexpr size_t kMostRows = 4;
/// Keys of one part, about; with fewer than two of it there is nothing to win.
constexpr int64_t kPartKeys = 256;

} // namespace

int64_t keyParts(const writ_kv_group &group, std::span<const int32_t> position, int threads) {
  if (threads < 2 || position.empty() || position.size() > kMostRows)
    return 1;
  int64_t keys = int64_t(*std::max_element(position.begin(), position.end())) + 1;
  if (group.window > 0)
    keys = std::min(keys, group.window);
  return std::max<int64_t>(1, keys / kPartKeys);
}

} // namespace writ
