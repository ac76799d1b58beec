//===- FaultGuard.h - mapped files that change while they are read --------===//
//
// A model file and a package's weights are mapped. If one becomes shorter, or its disk fails, the
// system raises SIGBUS, which without a handler ends the process with no word.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "writ/writ.h"

namespace writ::tool {

/// From here on such a fault is an error: E001 and exit code 3.
void guardMappedFiles();
/// And one in the weights of this package is an error of the step that meets it. Null ends that.
void guardPackage(const writ_package *package);

} // namespace writ::tool
