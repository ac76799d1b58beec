//===- Record.h - what a function's sweep gave (tests/data/functions) -----===//
#pragma once

#include "tests/functions/Sweep.h"

namespace writ::test {

/// A prime, so that the strided part meets every exponent and every low bit.
constexpr uint64_t kRecordedStride = 65521, kSampledStride = 251;

/// Whether this processor runs what the sweep is compiled for.
bool canSweep();

std::string recordPath(const std::string &function);
nlohmann::json readRecord(const std::string &function);
/// What is recorded of a function: all its arguments, or those that are chosen; a strided part.
SweepResult wholeResult(const nlohmann::json &functions, const std::string &name,
                        const SweepOptions &options);
SweepResult stridedResult(const nlohmann::json &functions, const std::string &name,
                          const std::vector<Production> &production = {});
void writeRecord(const nlohmann::json &functions, const std::string &name, const SweepResult &whole,
                 const SweepResult &strided, double seconds);

/// Why a sweep over all arguments is not what the record and functions.json say, or "".
std::string differenceFromRecord(const nlohmann::json &functions, const std::string &name,
                                 const SweepResult &whole);
/// The same of the strided part, which knows no maximum.
std::string stridedDifference(const nlohmann::json &functions, const std::string &name,
                              const SweepResult &strided);

} // namespace writ::test
