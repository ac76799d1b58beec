//===- Memory.h - the bound that every mutation run keeps -----------------===//
#pragma once

#include <cstdint>
#include <fstream>
#include <sys/resource.h>

namespace writ::test {

constexpr int64_t kMemoryBudget = 1'000'000; // kilobytes

inline int64_t peakKilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

/// Forgets the peak, so that peakKilobytes() tells what comes from now on from what another test of
/// this process has needed before; returns what is in use. proc(5), /proc/PID/clear_refs; without
/// it the peak stays.
inline int64_t forgetPeakKilobytes() {
  std::ofstream("/proc/self/clear_refs") << "5" << std::flush;
  return peakKilobytes();
}

} // namespace writ::test
