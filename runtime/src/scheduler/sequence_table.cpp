#include "scheduler/sequence_table.h"

namespace writ {

std::optional<writ_sequence> SequenceTable::create() {
  for (int64_t slot = 0; slot < alive.size(); ++slot)
    if (!alive[slot]) {
      alive[slot] = 1;
      lengths[slot] = 0;
      return writ_sequence{uint32_t(slot), generations[slot]};
    }
  return std::nullopt;
}

std::optional<SequenceId> SequenceTable::find(writ_sequence handle) const {
  if (handle.slot >= alive.size() || !alive[handle.slot] ||
      generations[handle.slot] != handle.generation)
    return std::nullopt;
  return SequenceId(handle.slot);
}

void SequenceTable::release(SequenceId sequence) {
  alive[sequence.raw()] = 0;
  lengths[sequence.raw()] = 0;
  if (++generations[sequence.raw()] == 0) // 0 is no generation of a valid handle
    generations[sequence.raw()] = 1;
}

} // namespace writ
