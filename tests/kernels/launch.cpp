// The kernels' threaded entries call writ_launch; here it runs all units on the calling thread.
#include "writ/kernel_abi.h"

namespace {

writ_body bestBody(const writ_step *step, const writ_body *bodies) {
  int isa = step->isa;
  while (!bodies[isa])
    --isa;
  return bodies[isa];
}

} // namespace

extern "C" void writ_launch(const writ_step *step, uint32_t, const writ_provider *provider,
                            const void *args, int64_t extent, int64_t grain) {
  bestBody(step, provider->bodies)(args, 0, (extent + grain - 1) / grain);
}

extern "C" void writ_launch_merged(const writ_step *step, uint32_t, const writ_provider *provider,
                                   const void *args, int64_t extent, int64_t grain, int64_t parts,
                                   const writ_body *merges, int64_t merge_extent) {
  bestBody(step, provider->bodies)(args, 0, (extent + grain - 1) / grain * parts);
  if (parts > 1)
    bestBody(step, merges)(args, 0, merge_extent);
}
