//===- Inspect.h - what a model file holds, for people and scripts --------===//
#pragma once

#include "compiler/Import/ModelFile.h"

#include <nlohmann/json.hpp>
#include <string>

namespace writ {

/// Format, metadata (long arrays and strings shortened), tensors, and per storage type the number
/// of tensors and their bytes. Text that comes from the file has its control characters escaped.
std::string inspectText(const ModelFile &model);

/// The same as JSON: {"file", "format", "metadata": [{"key", "type", "value" or "count" and
/// "first"}], "tensors": [{"name", "storage", "shape", "offset", "bytes"}], "storage": [{"type",
/// "tensors", "bytes"}], "bytes"}. Strings that are not UTF-8 are escaped (\xNN). An array is whole
/// up to 16 elements; else "count" is its length and "first" its first 16. A number that is not
/// finite is a string ("nan", "inf", "-inf").
nlohmann::json inspectJson(const ModelFile &model);

} // namespace writ
