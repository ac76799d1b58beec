//===- Compile.h - writing a package --------------------------------------===//
#pragma once

#include "compiler/Tools/writ/Commands.h"

namespace writ::tool {

/// Thrown where Ctrl-C ended a compile; what was written is removed.
struct Interrupted {};

/// Compiles and writes the package `command.output`: whole, or not at all. Where the host compiler
/// fails, the sources stand there without lib/; a package that works stays, and they stand beside
/// it.
void compilePackage(const CompileCommand &command);

} // namespace writ::tool
