//===- launch.cpp - one kernel of a step ----------------------------------===//

#include "pool/thread_pool.h"
#include "writ/writ.h"

extern "C" WRIT_API int32_t writ_traced_isa(const writ_step *step, const writ_provider *provider) {
  const writ_body ran = step && step->pool ? step->pool->lastBody() : nullptr;
  for (int32_t isa = 0; ran && provider && isa < WRIT_ISA_COUNT; ++isa)
    if (provider->bodies[isa] == ran)
      return isa;
  return -1;
}

namespace {

/// The best body up to the step's instruction set. Bodies of one provider keep the same bits, so
/// which one runs is a matter of speed.
writ_body bestBody(const writ_step *step, const writ_body *bodies) {
  int isa = step->isa;
  while (isa > WRIT_ISA_SCALAR && !bodies[isa])
    --isa;
  return bodies[isa];
}

void runUnits(const writ_step *step, writ_body body, const void *args, int64_t units) {
  if (step->pool)
    step->pool->run(body, args, units);
  else if (units > 0)
    body(args, 0, units);
}

void traceCall(const writ_step *step, uint32_t call, const writ_provider *provider,
               const void *args) {
  if (step->trace) {
    try {
      step->trace(step->trace_user, step, call, provider, args);
    } catch (...) { // it must not unwind a step that is half done
    }
  }
}

} // namespace

extern "C" WRIT_API void writ_launch(const writ_step *step, uint32_t call,
                                     const writ_provider *provider, const void *args,
                                     int64_t extent, int64_t grain) {
  writ_launch_merged(step, call, provider, args, extent, grain, 1, nullptr, 0);
}

extern "C" WRIT_API void writ_launch_merged(const writ_step *step, uint32_t call,
                                            const writ_provider *provider, const void *args,
                                            int64_t extent, int64_t grain, int64_t parts,
                                            const writ_body *merges, int64_t merge_extent) {
  if (step->pool && step->pool->stops())
    return;
  const writ_body body = bestBody(step, provider->bodies);
  const int64_t units = extent / grain + (extent % grain != 0 ? 1 : 0);
  if (parts > 1) {
    runUnits(step, body, args, units * parts);
    runUnits(step, bestBody(step, merges), args, merge_extent);
    if (step->pool)
      step->pool->note(body);
  } else {
    runUnits(step, body, args, units);
  }
  traceCall(step, call, provider, args);
}
