// The kernels' threaded entries call writ_launch; here it runs all units on the calling thread.
#include "writ/kernel_abi.h"

extern "C" void writ_launch(const writ_step *step, uint32_t, const writ_provider *provider,
                            const void *args, int64_t extent, int64_t grain) {
  int isa = step->isa;
  while (!provider->bodies[isa])
    --isa;
  provider->bodies[isa](args, 0, (extent + grain - 1) / grain);
}
