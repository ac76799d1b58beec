//===- OptMain.h - mlir-opt over Writ's dialects --------------------------===//
#pragma once

namespace writ {

/// Runs passes on a file as mlir-opt does. After each pass of the pipeline the decisions are
/// checked (check-resolution), so that an error names the pass which first changed one.
int optMain(int argc, char **argv);

} // namespace writ
