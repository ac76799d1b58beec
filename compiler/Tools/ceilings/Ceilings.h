//===- Ceilings.h - what this machine can do at most ----------------------===//
//
// Measured, not looked up: a machine's clock, neighbours and pages decide. Each figure is the best
// of a few short runs on `threads` threads that begin together.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "writ/kernel_abi.h"

#include <cstddef>
#include <string>

namespace writ::tool {

/// Per second. An operation is a multiplication or an addition: a multiply-add is two.
struct Ceilings {
  writ_isa isa;
  int threads;
  double mappedBytes = 0;      ///< read from a mapped file that is in the page cache; 0: no file
  double largePageBytes = 0;   ///< read from anonymous memory that asked for large pages
  double int8Operations = 0;   ///< 8-bit products, 32-bit sums, operands in registers
  double floatOperations = 0;  ///< binary32 multiply-adds, operands in registers
  double bfloatOperations = 0; ///< products of bfloat16, binary32 sums; 0: no instruction for them

  /// The bandwidth that a step can hope for: weights are mapped.
  double readBytes() const { return mappedBytes > largePageBytes ? mappedBytes : largePageBytes; }
};

/// `file` is mapped and read whole; empty, or one that is too small to leave the caches: not
/// measured. `isa` must be one that the machine has.
Ceilings measureCeilings(writ_isa isa, int threads, const std::string &file);

/// `read` takes so many bytes at a time.
inline constexpr int64_t kReadStep = 256;

/// A loop: `rounds` times as many operations as the constant says, with nothing in memory. The
/// result is of no meaning and keeps the work alive.
template <typename Result> struct PeakLoop {
  int64_t operationsPerRound;
  Result (*run)(int64_t rounds);
};

/// The loops of one instruction set. Their sources are compiled for it, so nothing of them may run
/// before somebody has looked at the processor: `constinit`, no initialiser at program start.
struct PeakLoops {
  PeakLoop<int64_t> int8;
  PeakLoop<float> floats;
  /// Reads each cache line of `bytes`, a multiple of kReadStep.
  int64_t (*read)(const std::byte *data, int64_t bytes);
};
extern constinit const PeakLoops kPeakScalar;
#if defined(__x86_64__)
extern constinit const PeakLoops kPeakAvx2, kPeakAvx512;
extern constinit const PeakLoop<float> kPeakAvx512Bf16;
#endif

} // namespace writ::tool
