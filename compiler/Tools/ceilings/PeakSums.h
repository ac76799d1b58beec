//===- PeakSums.h - sums of a peak loop, in registers ---------------------===//
//
// For sources that are compiled for one instruction set each, so that everything here is their own.
//
//===----------------------------------------------------------------------===//
#pragma once

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

} // namespace
} // namespace writ::tool
