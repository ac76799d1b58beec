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
  fields.require("sums", "i32_exact");
  fields.requireIeee("block_scale_nan_codes_zero", "block_scale_nan_codes_zero");
  fields.checkAllRead();
  if (block != blockElements || limit > 127)
    throw ReferenceError("activation codes have blocks of 32 and codes of 8 bits");

  const int64_t rows = dimension(call, "rows"), k = dimension(call, "k");
  const Matrix input = matrix(call, "input", rows, k), out = matrix(call, "out", rows, k);
  for (int64_t row = 0; row < rows; ++row) {
    ActivationRow codes(out.row(row), k);
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
      int32_t sum = 0;
      for (int64_t i = b * block; i < (b + 1) * block; ++i) {
        int code = 0;
        if (finite && !isZero) {
          const float scaled = input.get(row, i) * inverse;
          code = static_cast<int>(std::rint(scaled));
        }
        codes.setCode(i, static_cast<int8_t>(code));
        sum += code;
      }
      codes.setScale(b, !finite  ? std::numeric_limits<float>::quiet_NaN()
                        : isZero ? 0.0f
                                 : magnitude / limit);
      codes.setSum(b, sum);
    }
  }
}

} // namespace writ::reference
