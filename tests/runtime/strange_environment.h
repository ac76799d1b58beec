//===- strange_environment.h - bits that a caller's environment may have --===//
#pragma once

#include <cstdint>

namespace writ::test {

/// Subnormals are flushed, and results are rounded towards zero.
#if defined(__x86_64__)
inline constexpr uint64_t kStrangeBits = 0x8040 | 0x6000; // FTZ, DAZ, RC of MXCSR
#else
inline constexpr uint64_t kStrangeBits = uint64_t(1) << 24 | uint64_t(3) << 22; // FZ, RMode of FPCR
#endif

} // namespace writ::test
