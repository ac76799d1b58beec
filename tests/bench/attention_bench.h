//===- attention_bench.h - speed of attention at a depth ------------------===//
#pragma once

#include "writ/kernel_abi.h"

#include <nlohmann/json.hpp>
#include <string>

namespace writ::test {

/// Registers `name`/SHAPE/rows:N/depth:N of one body of an attention provider: the heads of models
/// that people run, one row (decode) and 64 (prefill), after `depth` positions.
void registerAttention(const std::string &name, const writ_provider *provider, int isa,
                       const nlohmann::json &map);

} // namespace writ::test
