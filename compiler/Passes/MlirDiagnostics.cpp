//===- MlirDiagnostics.cpp - diagnostics between Writ and MLIR ------------===//
#include "compiler/Passes/Passes.h"

using namespace mlir;

namespace writ {

mlir::Location toMlir(MLIRContext *context, const Location &location) {
  if (location.file.empty())
    return UnknownLoc::get(context);
  return FileLineColLoc::get(context, location.file, location.line, location.column);
}

Location fromMlir(mlir::Location location) {
  if (auto place = dyn_cast<FileLineColLoc>(location))
    return {place.getFilename().str(), place.getLine(), place.getColumn()};
  return {};
}

void report(MLIRContext *context, const Diagnostic &diagnostic) {
  InFlightDiagnostic error = emitError(toMlir(context, diagnostic.location));
  error << diagnostic.message << " [" << diagnostic.code << "]";
  for (const Note &note : diagnostic.notes)
    error.attachNote(toMlir(context, note.location)) << note.message;
}

} // namespace writ
