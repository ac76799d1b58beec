//===- WritePackage.h - the files of a package ----------------------------===//
#pragma once

#include "compiler/Tools/writ/CompileModel.h"

#include <functional>
#include <span>

namespace writ::tool {

/// The names that a package has at its top, whether the compiler, the host build or the first
/// opening makes them. Whatever else stands there is the user's.
std::span<const char *const> packageEntries();

/// Share of the work that is done, 0 to 1.
using Progress = std::function<void(double)>;

/// Writes everything but lib/ into `folder`, which exists and is empty: emitted sources, packed
/// weights, tokenizer, chat template, IR, report and lock.
void writePackage(const CompiledModel &model, const std::string &folder, const Progress &progress);

/// The three stages: graph.mlir, lowered.mlir, call.mlir.
void writeIr(const CompiledModel &model, const std::string &folder);

} // namespace writ::tool
