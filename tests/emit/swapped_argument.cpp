// Two arguments of a kernel in the wrong order: the compiler must refuse it (F7).
#include "writ/kernels/residual_f32.h"

void swapped(const writ_step *step) {
  residual_f32_threaded(step, 0,
                        {
                            .b = nullptr,
                            .a = nullptr,
                            .out = nullptr,
                            .rows = 1,
                            .n = 1,
                        });
}
