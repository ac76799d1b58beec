//===- cpu.h - what this processor and its system can run -----------------===//
#pragma once

#include "writ/kernel_abi.h"

#include <cstdint>

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

/// Processors in this process's affinity mask, at least 1.
int processorCount();

} // namespace writ
