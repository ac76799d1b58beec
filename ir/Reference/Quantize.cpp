//===- Quantize.cpp - activation codes ------------------------------------===//
#include "ir/Reference/Entries.h"
#include "ir/Reference/Fields.h"
#include "ir/Reference/Operands.h"
#include "ir/Reference/Scalar.h"

#include <cmath>
#include <limits>

namespace writ::reference {

void evaluateQuantizeActivation(Call &call) {
  Fields fields(call, "quantize_activation");
  fields.require("compute", "fp32");
  const int64_t block = fields.count("block");
  const float limit = static_cast<float>(fields.count("code_limit"));
  fields.require("magnitude", "max_abs");
  fields.require("scale", "fp32_magnitude_divided_by_limit");
  fields.require("code", "fp32_mul_inverse_scale");
  fields.require("code_rounding", "nearest_even");
  const float zeroBelow = fields.hexFloat("zero_below");
  // the elements of one sum; of the whole block where the word says nothing
  const int64_t summed = fields.choose("sums", {"i32_exact", "i16_exact_of_16"}) == 0 ? block : 16;
  fields.requireIeee("block_scale_nan_codes_zero", "block_scale_nan_codes_zero");
  fields.checkAllRead();
  const std::string &storage = operand(call, "out").storage;
  if (block != blockElements(storage) || limit > 127)
    throw ReferenceError("codes of '" + storage + "' have blocks of " +
                         std::to_string(blockElements(storage)) + " elements and 8 bits");

  const int64_t rows = dimension(call, "rows"), k = dimension(call, "k");
  const Matrix input = matrix(call, "input", rows, k), out = matrix(call, "out", rows, k);
  for (int64_t row = 0; row < rows; ++row) {
    ActivationRow codes(storage, out.row(row), k);
    if (summed != codes.sumElements())
      throw ReferenceError("codes of '" + storage + "' hold a sum of each " +
                           std::to_string(codes.sumElements()) + " elements");
    for (int64_t b = 0; b < k / block; ++b) {
      float magnitude = 0;
      bool finite = true;
      for (int64_t i = b * block; i < (b + 1) * block; ++i) {
        const float size = std::fabs(input.get(row, i));
        finite = finite && size < infinity; // false for a NaN
        magnitude = size > magnitude ? size : magnitude;
      }
      const bool isZero = finite && magnitude < zeroBelow;
      const float inverse = limit / magnitude;
      std::vector<int32_t> sums(static_cast<size_t>(block / summed), 0);
      for (int64_t i = b * block; i < (b + 1) * block; ++i) {
        int code = 0;
        if (finite && !isZero) {
          const float scaled = input.get(row, i) * inverse;
          code = static_cast<int>(std::rint(scaled));
        }
        codes.setCode(i, static_cast<int8_t>(code));
        sums[static_cast<size_t>((i - b * block) / summed)] += code;
      }
      codes.setScale(b, !finite  ? std::numeric_limits<float>::quiet_NaN()
                        : isZero ? 0.0f
                                 : magnitude / limit);
      for (size_t run = 0; run < sums.size(); ++run)
        codes.setSum(b * block / summed + static_cast<int64_t>(run), sums[run]);
    }
  }
}

} // namespace writ::reference
