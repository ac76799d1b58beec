//===- Memory.h - the bound that every mutation run keeps -----------------===//
#pragma once

#include <cstdint>
#include <sys/resource.h>

namespace writ::test {

constexpr int64_t kMemoryBudget = 1'000'000; // kilobytes

inline int64_t peakKilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

} // namespace writ::test
