//===- FunctionChecker.h - faults of one function of functions.json -------===//
#pragma once

#include "compiler/Diagnostics/Diagnostic.h"
#include "compiler/Support/Json.h"

#include <string>
#include <utility>
#include <vector>

namespace writ {

/// A function that a step calls, and where.
using FunctionCall = std::pair<std::string, Location>;

/// Adds the faults of one entry of functions.json, which its schema has accepted: each name has a
/// value before it is read, each value is read, each operation is one of the step language, with
/// operands of its kinds. `functions` are the names of all. Gives the functions that it calls.
std::vector<FunctionCall> checkFunction(const Json &function,
                                        const std::vector<std::string> &functions,
                                        std::vector<Diagnostic> &found);

} // namespace writ
