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

extern "C" WRIT_API void writ_launch(const writ_step *step, uint32_t call,
                                     const writ_provider *provider, const void *args,
                                     int64_t extent, int64_t grain) {
  if (step->pool && step->pool->stops())
    return;
  // Bodies of one provider keep the same bits, so the best one that is there is a matter of speed.
  int isa = step->isa;
  while (isa > WRIT_ISA_SCALAR && !provider->bodies[isa])
    --isa;
  const writ_body body = provider->bodies[isa];
  const int64_t units = extent / grain + (extent % grain != 0 ? 1 : 0);
  if (step->pool)
    step->pool->run(body, args, units);
  else if (units > 0)
    body(args, 0, units);
  if (step->trace) {
    try {
      step->trace(step->trace_user, step, call, provider, args);
    } catch (...) { // it must not unwind a step that is half done
    }
  }
}
