//===- GgmlRecord.h - what ggml answered, beside what the reference does ---===//
#pragma once

#include "tests/conformance/GgmlCases.h"

namespace writ::test {

std::string hexOf(std::span<const std::byte> bytes);
std::vector<std::byte> bytesOf(const std::string &hex);

/// tests/data/ggml/ops.json.
const nlohmann::json &ggmlRecord();

/// How far the reference is from ggml's recorded answer.
struct GgmlDistance {
  int64_t values = 0;    ///< binary32 values, or bytes of codes
  int64_t different = 0; ///< of those, NaN equal to NaN
  double worstUlp = 0;   ///< in units in the last place of ggml's value; of codes: 0
  double worstAbs = 0;
  double worstOfTolerance = 0; ///< the largest part of the case's tolerance that is taken
  double squaredError = 0, squaredValue = 0; ///< over the finite values
  double nmse() const { return squaredValue > 0 ? squaredError / squaredValue : 0; }
};

/// Evaluates the case and compares. A case that the record lacks, or of another size, is an error.
GgmlDistance compareWithRecord(const GgmlCase &one, const nlohmann::json &record);

} // namespace writ::test
