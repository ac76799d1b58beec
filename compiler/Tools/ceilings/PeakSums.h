//===- PeakSums.h - sums of a peak loop, in registers ---------------------===//
//
// For sources that are compiled for one instruction set each, so that everything here is their own.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Tools/ceilings/Ceilings.h"

#include <cstddef>
#include <cstdint>

namespace writ::tool {
namespace {

/// Sums that depend on nothing but themselves: 12 hide six cycles of latency on two ports.
constexpr int kPeakSums = 12;

/// Takes `step` of each of the sums `rounds` times, and adds them up with `add`. The compiler may
/// not know that the sums start equal, or it computes them as one; the loop itself hides nothing,
/// so that they stay in registers.
template <typename Vector, typename Step, typename Add>
Vector peakSums(int64_t rounds, Vector zero, Step step, Add add) {
  Vector sums[kPeakSums];
#pragma GCC unroll 12
  for (Vector &sum : sums) {
    sum = zero;
    asm volatile("" : "+x"(sum));
  }
  for (int64_t round = 0; round < rounds; ++round)
#pragma GCC unroll 12
    for (Vector &sum : sums)
      sum = step(sum);
  Vector total = zero;
  for (const Vector &sum : sums)
    total = add(total, sum);
  return total;
}

/// Adds up what is read at every `Step`-th byte. As few instructions as there can be: with more,
/// the processor would be measured and not its memory.
template <int64_t Step, typename Vector, typename Load, typename Add>
Vector readSums(const std::byte *data, int64_t bytes, Vector zero, Load load, Add add) {
  constexpr int64_t count = kReadStep / Step;
  Vector sums[count];
  for (Vector &sum : sums)
    sum = zero;
  for (int64_t at = 0; at < bytes; at += kReadStep)
#pragma GCC unroll 8
    for (int64_t i = 0; i < count; ++i)
      sums[i] = add(sums[i], load(data + at + i * Step));
  Vector total = zero;
  for (const Vector &sum : sums)
    total = add(total, sum);
  return total;
}

} // namespace
} // namespace writ::tool
