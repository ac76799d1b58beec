//===- counting_malloc.h - what a program allocates -----------------------===//
//
// A program that links counting_malloc.cpp has malloc and its family replaced, for itself and for
// every library that it loads; counts are of all its threads. Sanitizers replace malloc too, so
// that the two do not go together.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace counting {

int64_t allocations(); ///< calls so far
int64_t bytes();       ///< asked for so far; what was freed is not taken off

template <class Action> int64_t allocationsOf(Action &&action) {
  const int64_t before = allocations();
  action();
  return allocations() - before;
}

} // namespace counting
