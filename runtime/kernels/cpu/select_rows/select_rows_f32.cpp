// out[r] = input[output_row[r]]: the rows whose logits are wanted. out f32 [rows][n], so that
// `rows` is the number of output rows, not of the step's rows.
#include "writ/kernels/select_rows_f32.h"
#include "runtime/kernels/cpu/body.h"

WRIT_BODY(select_rows_f32) {
  const auto &args = *static_cast<const select_rows_f32_args *>(arguments);
  const auto *outputRow = static_cast<const int32_t *>(args.output_row);
  const int64_t n = args.n;
  for (int64_t row = begin; row < end; ++row)
    __builtin_memcpy(static_cast<float *>(args.out) + row * n,
                     static_cast<const float *>(args.input) + outputRow[row] * n,
                     static_cast<size_t>(n) * sizeof(float));
}
