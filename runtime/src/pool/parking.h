//===- parking.h - sleep until a word changes -----------------------------===//
#pragma once

#include <atomic>
#include <cstdint>

#if defined(__linux__)
#include <climits>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace writ {

/// Sleeps while `word` is `expected`; may return early.
inline void park(std::atomic<uint32_t> &word, uint32_t expected) {
#if defined(__linux__)
  static_assert(sizeof(word) == sizeof(uint32_t));
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
#else
  word.wait(expected);
#endif
}

inline void unparkAll(std::atomic<uint32_t> &word) {
#if defined(__linux__)
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
#else
  word.notify_all();
#endif
}

/// A hint to the processor inside a spin loop.
inline void spinPause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

} // namespace writ
