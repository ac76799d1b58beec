//===- Sweep.h - one elementary function over the binary32 numbers --------===//
//
// Every argument goes through the steps of functions.json and through each form that the kernels
// have, which must agree to the bit, and the result is held against the exact function: screened by
// binary64, decided by MPFR where binary64 cannot tell.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/functions/Production.h"

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace writ::test {

/// The arguments first, first + stride, ... as bit patterns below 2^32.
struct SweepOptions {
  uint64_t stride = 1;
  unsigned threads = 1;
  std::function<void(unsigned done, unsigned parts)> progress;
};

struct SweepResult {
  /// SHA-256 of the digests of the parts in order; a part is the results of at most 2^24 arguments,
  /// little-endian, a NaN as 0x7fc00000.
  std::string digest;
  double maxUlp = 0; ///< by MPFR
  double worstAt = 0;
  double largestBelow = 0; ///< |result - exact| of finite arguments below `max_ulp_from`
  double screeningError =
      0;                ///< by how much binary64's estimate was off, in ulp, where it was looked at
  uint64_t decided = 0; ///< arguments that MPFR decided
  std::vector<std::string> forms;
  std::string fault; ///< the first disagreement, or ""
};

/// `production`: what the kernels have; each is one of the function named.
SweepResult sweep(const nlohmann::json &functions, const std::string &name,
                  const std::vector<Production> &production, const SweepOptions &options);

/// max_ulp as functions.json states it: rounded up in the sixth decimal.
double statedUlp(double ulp);

/// SHA-256 of what decides over a function's results: its entry without names, summaries and
/// measurements, and those of the functions that it calls.
std::string stepsDigest(const nlohmann::json &functions, const std::string &name);

std::string sha256Hex(const std::string &bytes);

} // namespace writ::test
