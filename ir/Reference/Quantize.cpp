//===- Quantize.cpp - activation codes ------------------------------------===//
#include "ir/Reference/Entries.h"
#include "ir/Reference/Fields.h"
#include "ir/Reference/Operands.h"
#include "ir/Reference/Scalar.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace writ::reference {
namespace {

enum class Scale { magnitudeByLimit, magnitudeByLimitInBinary16, reciprocalOfInverse };
enum class Code { mulInverse, mulInverseSaturated, mulNegatedInverse };
enum class Sums { ofBlock, ofSixteen, scaledOfBlock, none };

/// What is common to the elements of one block.
struct BlockScale {
  bool finite = true;
  float amax = 0, scale = 0, inverse = 0;
};

struct Quantization {
  Quantization(Fields &fields)
      : block(fields.count("block")), limit(static_cast<float>(fields.count("code_limit"))),
        isSigned(fields.choose("magnitude", {"max_abs", "signed_max_abs"}) == 1),
        scale(static_cast<Scale>(fields.choose("scale", {"fp32_magnitude_divided_by_limit",
                                                         "fp16_rounded_magnitude_divided_by_limit",
                                                         "fp32_reciprocal_of_inverse_scale"}))),
        code(static_cast<Code>(
            fields.choose("code", {"fp32_mul_inverse_scale", "fp32_mul_inverse_scale_saturated",
                                   "fp32_mul_negated_inverse_scale"}))),
        zeroBelow(fields.hexFloat("zero_below")),
        sums(static_cast<Sums>(fields.choose(
            "sums", {"i32_exact", "i16_exact_of_16", "fp16_rounded_scaled_sum", "none"}))) {
    fields.require("code_rounding", "nearest_even");
    const bool reciprocal = scale == Scale::reciprocalOfInverse;
    if (isSigned != reciprocal || isSigned != (code == Code::mulNegatedInverse))
      throw ReferenceError("fields 'magnitude', 'scale' and 'code' contradict each other");
  }

  BlockScale scaleOf(const std::vector<float> &x) const;
  int32_t integer(const BlockScale &block, float x) const;
  int8_t narrowed(int32_t integer) const;

  int64_t block;
  float limit;
  bool isSigned;
  Scale scale;
  Code code;
  float zeroBelow;
  Sums sums;
};

BlockScale Quantization::scaleOf(const std::vector<float> &x) const {
  BlockScale result;
  float largest = 0; // with its sign
  for (const float value : x) {
    const float size = std::fabs(value);
    result.finite = result.finite && size < infinity; // false for a NaN
    if (size > result.amax) {
      result.amax = size;
      largest = value;
    }
  }
  if (!result.finite) {
    result.scale = std::numeric_limits<float>::quiet_NaN();
  } else if (!(result.amax < zeroBelow)) {
    result.inverse = isSigned ? -limit / largest : limit / result.amax;
    result.scale =
        scale == Scale::reciprocalOfInverse ? 1.0f / result.inverse : result.amax / limit;
  }
  return result;
}

/// The integer of an element, before it is stored in 8 bits.
int32_t Quantization::integer(const BlockScale &block, float x) const {
  if (!block.finite || block.amax < zeroBelow)
    return 0;
  const float scaled = x * block.inverse;
  if (std::fabs(scaled) < infinity)
    return static_cast<int32_t>(std::rint(scaled));
  return code == Code::mulNegatedInverse ? 0 : std::numeric_limits<int32_t>::min();
}

int8_t Quantization::narrowed(int32_t integer) const {
  return static_cast<int8_t>(code == Code::mulInverseSaturated ? std::clamp(integer, -128, 127)
                                                               : integer);
}

} // namespace

void evaluateQuantizeActivation(Call &call) {
  Fields fields(call, "quantize_activation");
  fields.require("compute", "fp32");
  const Quantization quantization(fields);
  fields.requireIeee("block_scale_nan_codes_zero", "block_scale_nan_codes_zero");
  fields.checkAllRead();
  const std::string &storage = operand(call, "out").storage;
  const int64_t block = quantization.block;
  if (block != blockElements(storage) || quantization.limit > 127)
    throw ReferenceError("codes of '" + storage + "' have blocks of " +
                         std::to_string(blockElements(storage)) + " elements and 8 bits");

  const int64_t rows = dimension(call, "rows"), k = dimension(call, "k");
  const Matrix input = matrix(call, "input", rows, k), out = matrix(call, "out", rows, k);
  const int64_t summed = quantization.sums == Sums::ofBlock     ? block
                         : quantization.sums == Sums::ofSixteen ? 16
                                                                : 0;
  for (int64_t row = 0; row < rows; ++row) {
    ActivationRow codes(storage, out.row(row), k);
    if (summed != codes.sumElements() ||
        (quantization.sums == Sums::scaledOfBlock) != codes.hasValueSum() ||
        (quantization.scale == Scale::magnitudeByLimitInBinary16) != codes.hasHalfScale())
      throw ReferenceError("codes of '" + storage + "' hold a sum of each " +
                           std::to_string(codes.sumElements()) +
                           " elements and a scale of their own");
    for (int64_t b = 0; b < k / block; ++b) {
      std::vector<float> x;
      for (int64_t i = b * block; i < (b + 1) * block; ++i)
        x.push_back(input.get(row, i));
      const BlockScale scale = quantization.scaleOf(x);
      std::vector<int32_t> sums(static_cast<size_t>(summed ? block / summed : 0), 0);
      uint32_t total = 0; // wraps
      for (int64_t i = 0; i < block; ++i) {
        const int32_t integer = quantization.integer(scale, x[i]);
        const int8_t code = quantization.narrowed(integer);
        codes.setCode(b * block + i, code);
        total += static_cast<uint32_t>(integer);
        if (summed)
          sums[static_cast<size_t>(i / summed)] += code;
      }
      codes.setScale(b, scale.scale);
      for (size_t run = 0; run < sums.size(); ++run)
        codes.setSum(b * block / summed + static_cast<int64_t>(run), sums[run]);
      if (quantization.sums == Sums::scaledOfBlock)
        codes.setValueSum(b, scale.scale * static_cast<float>(static_cast<int32_t>(total)));
    }
  }
}

} // namespace writ::reference
