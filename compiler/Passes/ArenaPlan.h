//===- ArenaPlan.h - where buffers lie, by liveness -----------------------===//
#pragma once

#include <cstdint>
#include <vector>

namespace writ {

/// A buffer that lives while the kernels [first, last] of an entry run.
struct PlannedBuffer {
  int64_t bytes = 0; ///< for each row; the plan rounds up to `kArenaAlignment`
  int64_t first = 0, last = 0;
  int64_t offset = -1; ///< the plan's answer; given where it is not negative
};

inline constexpr int64_t kArenaAlignment = 64;

/// Gives every buffer the lowest offset at which it lies on no other buffer that lives with it, in
/// the order given (those with a fixed offset first), and returns the bytes that the arena takes.
int64_t planArena(std::vector<PlannedBuffer> &buffers);

} // namespace writ
