//===- EmitCpp.h - CallIR → C++20 -----------------------------------------===//
//
// The sources of a model package, from CallIR alone. The same CallModel gives the same bytes,
// whatever the working directory, the locale or the machine.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Emit/CallModel.h"

#include <string>
#include <vector>

namespace writ {

/// A file of the package; `path` is relative to its root.
struct EmittedFile {
  std::string path;
  std::string text;
};

/// src/model.h, src/model.cpp, src/calls.cpp and CMakeLists.txt. Throws E204 where a symbol of the
/// module is no C identifier, or a model cannot be described by model_abi.h.
std::vector<EmittedFile> emitCpp(const CallModel &model);

/// The build description alone: it makes the libraries `model`, static and shared, from the sources
/// beside it and the runtime in WRIT_ROOT (include/, lib/libwrit_runtime.so).
std::string emitBuild(const CallModel &model);

} // namespace writ
