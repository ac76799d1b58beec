// Activation codes in blocks of 256 of each row, normalised by its root mean square; see
// normed_codes.h.
#include "writ/kernels/rms_norm_f32_quantize_i8_b256.h"
#include "runtime/kernels/cpu/rms_norm_quantize/normed_codes.h"

WRIT_BODY(rms_norm_f32_quantize_i8_b256) {
  normAndQuantizeRows<writ::kActivationB256, int16_t>(
      *static_cast<const rms_norm_f32_quantize_i8_b256_args *>(arguments), begin, end);
}
