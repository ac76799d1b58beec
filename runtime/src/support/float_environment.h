//===- float_environment.h - round to nearest, keep subnormals ------------===//
//
// The portable contracts hold under one floating-point environment: round to nearest even,
// subnormals neither flushed nor read as zero, every exception masked (PORTABLE.md, rule 1).
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace writ {

/// Sets this thread's environment, and restores the one it found.
class FloatEnvironment {
public:
  FloatEnvironment() : saved(read()) { write(kPortable); }
  ~FloatEnvironment() { write(saved); }
  FloatEnvironment(const FloatEnvironment &) = delete;
  FloatEnvironment &operator=(const FloatEnvironment &) = delete;

#if defined(__x86_64__)
  static constexpr uint64_t kPortable =
      0x1f80; ///< MXCSR: all exceptions masked, RN, no FTZ, no DAZ
  static uint64_t read() {
    return _mm_getcsr();
  }
  static void write(uint64_t value) {
    _mm_setcsr(uint32_t(value));
  }
#elif defined(__aarch64__)
  static constexpr uint64_t kPortable = 0; ///< FPCR: RN, no flush, no trap, no default NaN
  static uint64_t read() {
    uint64_t value;
    __asm__ volatile("mrs %0, fpcr" : "=r"(value));
    return value;
  }
  static void write(uint64_t value) {
    __asm__ volatile("msr fpcr, %0" ::"r"(value));
  }
#else
#error "the floating-point environment of this architecture is not known"
#endif

private:
  uint64_t saved;
};

} // namespace writ
