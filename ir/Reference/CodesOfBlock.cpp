//===- CodesOfBlock.cpp - integer codes of one block of values ------------===//
#include "ir/Reference/CodesOfBlock.h"

#include "ir/Reference/Scalar.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace writ::reference {

BlockQuantizer::BlockQuantizer(Fields &fields)
    : block(fields.count("block")), codeLimit(fields.count("code_limit")),
      isSigned(fields.choose("magnitude", {"max_abs", "signed_max_abs"}) == 1),
      scale(static_cast<Scale>(fields.choose("scale", {"fp32_magnitude_divided_by_limit",
                                                       "fp16_rounded_magnitude_divided_by_limit",
                                                       "fp32_reciprocal_of_inverse_scale"}))),
      code(static_cast<Code>(
          fields.choose("code", {"fp32_mul_inverse_scale", "fp32_mul_inverse_scale_saturated",
                                 "fp32_mul_negated_inverse_scale"}))),
      zeroBelow(fields.hexFloat("zero_below")) {
  fields.require("code_rounding", "nearest_even");
  const bool reciprocal = scale == Scale::reciprocalOfInverse;
  if (isSigned != reciprocal || isSigned != (code == Code::mulNegatedInverse))
    fields.fail("magnitude", "fields 'magnitude', 'scale' and 'code' contradict each other");
  if (codeLimit > 127)
    fields.fail("code_limit",
                "field 'code_limit' is " + std::to_string(codeLimit) + ", but a code has 8 bits");
}

/// The integer of an element, before it is stored in 8 bits.
int32_t BlockQuantizer::integer(float scaled) const {
  if (std::fabs(scaled) < infinity)
    return static_cast<int32_t>(std::rint(scaled));
  return code == Code::mulNegatedInverse ? 0 : std::numeric_limits<int32_t>::min();
}

int8_t BlockQuantizer::narrowed(int32_t integer) const {
  return static_cast<int8_t>(code == Code::mulInverseSaturated ? std::clamp(integer, -128, 127)
                                                               : integer);
}

BlockCodes BlockQuantizer::codesOf(const std::function<float(int64_t)> &value) const {
  float amax = 0, largest = 0; // the second with its sign
  bool finite = true;
  for (int64_t i = 0; i < block; ++i) {
    const float x = value(i), size = std::fabs(x);
    finite = finite && size < infinity; // false for a NaN
    if (size > amax) {
      amax = size;
      largest = x;
    }
  }
  BlockCodes result;
  result.codes.assign(static_cast<size_t>(block), 0);
  if (!finite)
    result.scale = std::numeric_limits<float>::quiet_NaN();
  if (!finite || amax < zeroBelow)
    return result;
  const auto limit = static_cast<float>(codeLimit);
  const float inverse = isSigned ? -limit / largest : limit / amax;
  uint32_t sum = 0;
  for (int64_t i = 0; i < block; ++i) {
    const float scaled = value(i) * inverse;
    const int32_t rounded = integer(scaled);
    result.codes[static_cast<size_t>(i)] = narrowed(rounded);
    sum += static_cast<uint32_t>(rounded);
  }
  result.sum = static_cast<int32_t>(sum);
  result.scale = scale == Scale::reciprocalOfInverse ? 1.0f / inverse : amax / limit;
  return result;
}

} // namespace writ::reference
