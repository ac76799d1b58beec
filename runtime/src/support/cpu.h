//===- cpu.h - what this processor and its system can run -----------------===//
#pragma once

#include "writ/kernel_abi.h"

#include <cstdint>
#include <pthread.h>
#include <sched.h>
#include <vector>

namespace writ {

/// The words of CPUID and XCR0 that decide. Zero where the processor lacks the leaf.
struct CpuWords {
  uint32_t leaf1Ecx = 0;     ///< FMA, OSXSAVE, AVX, F16C
  uint32_t leaf7Ebx = 0;     ///< AVX2, BMI2, AVX-512 F, DQ, BW, VL
  uint32_t leaf7Ecx = 0;     ///< AVX-512 VNNI
  uint64_t xcr0 = 0;         ///< register state that the operating system saves
  uint32_t leaf7Sub1Eax = 0; ///< AVX-512 BF16
};

CpuWords readCpuWords();
/// The best set of which every part is there, and whose registers the system saves.
writ_isa isaFromCpuWords(const CpuWords &words);
/// The same of AArch64's hardware capabilities, as the kernel gives them in AT_HWCAP.
writ_isa isaFromHardwareCapabilities(uint64_t words);
writ_isa bestIsa();
/// Whether a machine of this architecture whose best set is `best` runs bodies of `isa`.
bool supportsIsa(writ_isa isa, writ_isa best = bestIsa());

/// Processors in this thread's affinity mask, at least 1.
int processorCount();
/// Their numbers, ascending; empty where the system does not say.
std::vector<int> processors();

/// Binds the calling thread to a processor, and gives it back the mask that it had.
class PinnedCaller {
public:
  /// Does nothing where `processor` is negative.
  explicit PinnedCaller(int processor);
  ~PinnedCaller();
  PinnedCaller(const PinnedCaller &) = delete;
  PinnedCaller &operator=(const PinnedCaller &) = delete;
  /// errno of what failed, or 0.
  int failure() const { return error; }

private:
  int error = 0;
  bool bound = false;
#if defined(__linux__)
  cpu_set_t before;
#endif
};
/// Binds another thread for good. errno, or 0.
int pinThread(pthread_t thread, int processor);

} // namespace writ
