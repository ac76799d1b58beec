//===- library.cpp - the C API: library, machine, defaults ----------------===//

#include "package/lock.h"
#include "support/cpu.h"
#include "writ/writ.h"

#include <cstring>

namespace {

constexpr const char *kIsaNames[WRIT_ISA_COUNT] = {"scalar", "avx2",    "avx512",
                                                   "neon",   "dotprod", "avx512bf16"};

} // namespace

extern "C" {

const char *writ_status_name(int32_t status) {
  switch (status) {
  case WRIT_OK:
    return "ok";
  case WRIT_INVALID_ARGUMENT:
    return "invalid argument";
  case WRIT_IO_ERROR:
    return "input/output error";
  case WRIT_BAD_PACKAGE:
    return "bad package";
  case WRIT_VERSION_MISMATCH:
    return "version mismatch";
  case WRIT_DIGEST_MISMATCH:
    return "digest mismatch";
  case WRIT_UNSUPPORTED:
    return "unsupported";
  case WRIT_OUT_OF_MEMORY:
    return "out of memory";
  case WRIT_OUT_OF_PAGES:
    return "out of pages";
  case WRIT_CONTEXT_FULL:
    return "context full";
  case WRIT_BUFFER_TOO_SMALL:
    return "buffer too small";
  case WRIT_NON_FINITE:
    return "non-finite logits";
  case WRIT_STOPPED:
    return "stopped";
  case WRIT_BUSY:
    return "busy";
  case WRIT_OUT_OF_SEQUENCES:
    return "out of sequences";
  case WRIT_INTERNAL:
    return "internal error";
  }
  return "unknown status";
}

const char *writ_version(void) {
  return WRIT_VERSION;
}
int32_t writ_package_version(void) {
  return writ::kPackageVersion;
}

writ_isa writ_isa_best(void) {
  return writ::bestIsa();
}

int32_t writ_isa_supported(int32_t isa) {
  return isa >= 0 && isa < WRIT_ISA_COUNT && writ::supportsIsa(writ_isa(isa));
}

const char *writ_isa_name(int32_t isa) {
  return isa >= 0 && isa < WRIT_ISA_COUNT ? kIsaNames[isa] : nullptr;
}

int32_t writ_isa_from_name(const char *name) {
  for (int32_t isa = 0; name && isa < WRIT_ISA_COUNT; ++isa)
    if (std::strcmp(name, kIsaNames[isa]) == 0)
      return isa;
  return -1;
}

int32_t writ_processor_count(void) {
  return writ::processorCount();
}

void writ_open_options_init(writ_open_options *options) {
  if (!options)
    return;
  *options = {};
  options->struct_size = sizeof *options;
}

void writ_session_options_init(writ_session_options *options) {
  if (!options)
    return;
  *options = {};
  options->struct_size = sizeof *options;
  options->isa = WRIT_ISA_BEST;
}

void writ_sampling_init(writ_sampling *sampling) {
  if (!sampling)
    return;
  *sampling = {};
  sampling->struct_size = sizeof *sampling;
  sampling->top_p = 1;
  sampling->repeat_penalty = 1;
}

void writ_generate_options_init(writ_generate_options *options) {
  if (!options)
    return;
  *options = {};
  options->struct_size = sizeof *options;
  options->max_tokens = 64;
}

} // extern "C"
