//===- instruction_sets.h - which bodies this machine can run -------------===//
//
// Asked of the compiler's own detection, so that the runtime's is not judged by itself.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "writ/kernel_abi.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace writ::test {

inline constexpr std::array<const char *, WRIT_ISA_COUNT> kIsaNames{
    "scalar", "avx2", "avx512", "neon", "dotprod", "avx512bf16"};

inline const char *isaName(int isa) {
  return kIsaNames.at(static_cast<size_t>(isa));
}

inline writ_isa isaOf(const std::string &name) {
  const auto found = std::find(kIsaNames.begin(), kIsaNames.end(), name);
  if (found == kIsaNames.end())
    throw std::runtime_error("no instruction set '" + name + "'");
  return static_cast<writ_isa>(found - kIsaNames.begin());
}

/// Whether bodies of an instruction set are built for this architecture.
inline bool isBuilt(writ_isa isa) {
#if defined(__aarch64__)
  return isa == WRIT_ISA_SCALAR || isa == WRIT_ISA_NEON || isa == WRIT_ISA_DOTPROD;
#else
  return isa != WRIT_ISA_NEON && isa != WRIT_ISA_DOTPROD;
#endif
}

inline bool machineHas(writ_isa isa) {
  if (isa == WRIT_ISA_SCALAR)
    return true;
#if defined(__aarch64__)
  return isa == WRIT_ISA_NEON ||
         (isa == WRIT_ISA_DOTPROD && (::getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0);
#else
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi2");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
  return (isa == WRIT_ISA_AVX2 && avx2) || (isa == WRIT_ISA_AVX512 && avx512) ||
         (isa == WRIT_ISA_AVX512BF16 && avx512 && __builtin_cpu_supports("avx512bf16"));
#endif
}

} // namespace writ::test
