//===- Report.h - which providers were considered, and why ----------------===//
#pragma once

#include "compiler/Tools/writ/CompileModel.h"

#include <nlohmann/json.hpp>

namespace writ::tool {

/// report.json of a package: per op and phase the requirement, the decision, and every candidate
/// with the fields in which it differs; the calls of each entry with their weights; the memory
/// plan.
nlohmann::ordered_json reportOf(const CompiledModel &model);

} // namespace writ::tool
