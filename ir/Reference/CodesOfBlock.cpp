//===- CodesOfBlock.cpp - integer codes of one block of values ------------===//
#include "ir/Reference/CodesOfBlock.h"

#include "ir/Reference/Scalar.h"

#include <cmath>

namespace writ::reference {

BlockQuantizer::BlockQuantizer(Fields &fields)
    : block(fields.count("block")), codeLimit(fields.count("code_limit")),
      zeroBelow(fields.hexFloat("zero_below")) {
  fields.require("magnitude", "max_abs");
  fields.require("scale", "fp32_magnitude_divided_by_limit");
  fields.require("code", "fp32_mul_inverse_scale");
  fields.require("code_rounding", "nearest_even");
}

BlockCodes BlockQuantizer::codesOf(const std::function<float(int64_t)> &value) const {
  float magnitude = 0;
  bool finite = true;
  for (int64_t i = 0; i < block; ++i) {
    const float size = std::fabs(value(i));
    finite = finite && size < infinity; // false for a NaN
    magnitude = size > magnitude ? size : magnitude;
  }
  BlockCodes result;
  result.codes.assign(static_cast<size_t>(block), 0);
  if (!finite)
    result.scale = std::numeric_limits<float>::quiet_NaN();
  if (!finite || magnitude < zeroBelow)
    return result;
  const auto limit = static_cast<float>(codeLimit);
  const float inverse = limit / magnitude;
  for (int64_t i = 0; i < block; ++i) {
    const float scaled = value(i) * inverse;
    result.codes[static_cast<size_t>(i)] = static_cast<int32_t>(std::rint(scaled));
  }
  result.scale = magnitude / limit;
  return result;
}

} // namespace writ::reference
