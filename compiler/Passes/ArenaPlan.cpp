#include "compiler/Passes/ArenaPlan.h"

#include <algorithm>

namespace writ {

int64_t planArena(std::vector<PlannedBuffer> &buffers) {
  auto rounded = [](int64_t bytes) {
    return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
  };
  std::vector<const PlannedBuffer *> placed;
  int64_t end = 0;
  auto place = [&](PlannedBuffer &buffer) {
    placed.push_back(&buffer);
    end = std::max(end, buffer.offset + rounded(buffer.bytes));
  };
  for (PlannedBuffer &buffer : buffers)
    if (buffer.offset >= 0)
      place(buffer);
  for (PlannedBuffer &buffer : buffers) {
    if (buffer.offset >= 0)
      continue;
    // The lowest gap among those that live with it, walked in the order of their offsets.
    std::vector<const PlannedBuffer *> alive;
    for (const PlannedBuffer *other : placed)
      if (other->first <= buffer.last && buffer.first <= other->last)
        alive.push_back(other);
    std::sort(alive.begin(), alive.end(),
              [](const PlannedBuffer *a, const PlannedBuffer *b) { return a->offset < b->offset; });
    int64_t offset = 0;
    for (const PlannedBuffer *other : alive) {
      if (offset + rounded(buffer.bytes) <= other->offset)
        break;
      offset = std::max(offset, other->offset + rounded(other->bytes));
    }
    buffer.offset = offset;
    place(buffer);
  }
  return end;
}

} // namespace writ
