//===- BuiltOfKernels.cpp - the kernels of a program that measures --------===//
#include "tests/conformance/BuiltOf.h"
#include "writ/kernel_table.h"

void writ::test::addProviders(std::map<std::string, std::string> &digests) {
  uint32_t count = 0;
  const writ_provider *const *providers = writ_providers(&count);
  for (uint32_t i = 0; i < count; ++i) {
    const std::string id = providers[i]->id, flags = writ_flags_sha256(providers[i]);
    digests["source:" + id] = providers[i]->source_sha256;
    if (!flags.empty())
      digests["flags:" + id] = flags;
  }
}
