// Activation codes in blocks of 32 of each row, normalised by its root mean square; see
// normed_codes.h.
#include "writ/kernels/rms_norm_f32_quantize_i8_b32.h"
#include "runtime/kernels/cpu/rms_norm_quantize/normed_codes.h"

WRIT_BODY(rms_norm_f32_quantize_i8_b32) {
  normAndQuantizeRows<writ::kActivationB32, int32_t>(
      *static_cast<const rms_norm_f32_quantize_i8_b32_args *>(arguments), begin, end);
}
