//===- Compiler.h - the program that has the compiler in it ---------------===//
#pragma once

namespace writ::tool {

/// Before a command that compiles or reads IR, and before it does anything: in `writ-compiler` it
/// does nothing; `writ` becomes `writ-compiler` with the same arguments. E001 where that cannot be
/// started.
void needCompiler(char **arguments);

} // namespace writ::tool
