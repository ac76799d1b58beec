//===- ArenaPlan.h - where buffers lie, by liveness -----------------------===//
#pragma once

#include <cstdint>
#include <vector>

namespace writ {

/// While the kernels [first, last] of an entry run.
struct LiveRange {
  int64_t first = 0, last = 0;
};

/// A place in an arena. The same value of each layer shares one place, so that every layer finds it
/// at the same offset; then there are several ranges, ascending and apart.
struct PlannedBuffer {
  int64_t bytes = 0; ///< for each row; the plan rounds up to `kArenaAlignment`
  std::vector<LiveRange> live;
  int64_t offset = -1; ///< the plan's answer; given where it is not negative
};

inline constexpr int64_t kArenaAlignment = 64;

/// Whether two places are needed at the same time.
bool liveTogether(const PlannedBuffer &a, const PlannedBuffer &b);

/// Gives every buffer the lowest offset at which it lies on no other buffer that lives with it, and
/// returns the bytes that the arena takes. Those with a fixed offset come first, then those that
/// live longest.
int64_t planArena(std::vector<PlannedBuffer> &buffers);

} // namespace writ
