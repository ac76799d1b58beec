//===- EditDistance.h - the names that a mistyped name may have meant -----===//
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace writ {

/// Optimal string alignment distance in bytes: an insertion, a deletion, a substitution and a swap
/// of two neighbours cost one each.
size_t editDistance(std::string_view a, std::string_view b);

/// The candidates nearest to `name`, nearest first (equal distances in the order of the names), at
/// most `limit`, and none that is further away than a third of the longer of the two names (a name
/// that shares nothing would mislead). Duplicates are dropped.
std::vector<std::string> nearestNames(std::string_view name,
                                      std::span<const std::string> candidates, size_t limit = 3);

/// "'a', 'b'": the names quoted and joined; "" where there is none.
std::string quotedList(std::span<const std::string> names);

} // namespace writ
