//===- WritePackage.h - the files of a package ----------------------------===//
#pragma once

#include "compiler/Tools/writ/CompileModel.h"

#include <functional>
#include <nlohmann/json.hpp>
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

/// Enters a decision into the parts "contracts", "providers" (the map's digest) and "resolutions"
/// of a lock.
void addDecision(nlohmann::json &lock, const std::string &op, const std::string &phase,
                 const Resolution &resolution);

/// The three stages: graph.mlir, lowered.mlir, call.mlir.
void writeIr(const CompiledModel &model, const std::string &folder);

} // namespace writ::tool
