//===- key_parts.h - when threads share the keys of a query ---------------===//
#pragma once

#include "writ/model_abi.h"

#include <span>

namespace writ {

/// Into how many parts attention divides the keys of each query in a run of rows at `position`,
/// over `threads`; 1: not at all. It moves no bit (kernel_abi.h).
int64_t keyParts(const writ_kv_group &group, std::span<const int32_t> position, int threads);

} // namespace writ
