//===- Measure.h - the evidence of providers, measured again --------------===//
#pragma once

#include "compiler/Resolve/Evidence.h"

#include <map>
#include <string>

namespace writ::tool {

/// Runs the programs that provider records are made by (kernels_test, threaded_test, in `folder`)
/// on this machine, for these providers alone, and prints what each gave. E103 for every provider
/// that differs from the reference, and for every one that is unresolved: a program is absent, did
/// not end, or was built of other sources than `current`; a body does not run here, nothing was
/// compared. `providers`: id → its place in the lock.
void measureProviders(const std::string &folder, const Catalog &catalog,
                      const CurrentDigests &current,
                      const std::map<std::string, Location> &providers);

} // namespace writ::tool
