//===- TokenIds.h - token ids that a user writes --------------------------===//
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace writ::tool {

/// Ids of a JSON list, or of numbers separated by white space or single commas. E051 where it is
/// neither.
std::vector<int32_t> parseIds(const std::string &text, const std::string &source);

} // namespace writ::tool
