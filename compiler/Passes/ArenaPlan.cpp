#include "compiler/Passes/ArenaPlan.h"

#include <algorithm>

namespace writ {
namespace {

int64_t rounded(int64_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

int64_t longest(const PlannedBuffer &buffer) {
  int64_t length = 0;
  for (const LiveRange &range : buffer.live)
    length = std::max(length, range.last - range.first);
  return length;
}

} // namespace

bool liveTogether(const PlannedBuffer &a, const PlannedBuffer &b) {
  auto i = a.live.begin();
  auto j = b.live.begin();
  while (i != a.live.end() && j != b.live.end()) {
    if (i->last < j->first)
      ++i;
    else if (j->last < i->first)
      ++j;
    else
      return true;
  }
  return false;
}

int64_t planArena(std::vector<PlannedBuffer> &buffers) {
  std::vector<const PlannedBuffer *> placed;
  int64_t end = 0;
  auto place = [&](PlannedBuffer &buffer) {
    placed.push_back(&buffer);
    end = std::max(end, buffer.offset + rounded(buffer.bytes));
  };
  std::vector<PlannedBuffer *> order;
  for (PlannedBuffer &buffer : buffers)
    if (buffer.offset >= 0)
      place(buffer);
    else
      order.push_back(&buffer);
  std::stable_sort(order.begin(), order.end(), [](const PlannedBuffer *a, const PlannedBuffer *b) {
    return longest(*a) > longest(*b);
  });
  for (PlannedBuffer *buffer : order) {
    // The lowest gap among those that live with it, walked in the order of their offsets.
    std::vector<const PlannedBuffer *> alive;
    for (const PlannedBuffer *other : placed)
      if (liveTogether(*buffer, *other))
        alive.push_back(other);
    std::sort(alive.begin(), alive.end(),
              [](const PlannedBuffer *a, const PlannedBuffer *b) { return a->offset < b->offset; });
    buffer->offset = 0;
    for (const PlannedBuffer *other : alive) {
      if (buffer->offset + rounded(buffer->bytes) <= other->offset)
        break;
      buffer->offset = std::max(buffer->offset, other->offset + rounded(other->bytes));
    }
    place(*buffer);
  }
  return end;
}

} // namespace writ
