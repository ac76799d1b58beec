//===- EditDistance.cpp - the names that a mistyped name may have meant ---===//
#include "compiler/Support/EditDistance.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace writ {

size_t editDistance(std::string_view a, std::string_view b) {
  // One row of the table: row[j] is the distance between the prefix of `a` seen so far and b[0, j).
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t substitution = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitution});
    }
  }
  return row[b.size()];
}

std::vector<std::string> nearestNames(std::string_view name,
                                      std::span<const std::string> candidates, size_t limit) {
  // A name of this length is no slip of the keyboard, and the table above is quadratic.
  constexpr size_t longestName = 256;
  std::vector<std::pair<size_t, std::string>> ranked;
  for (const std::string &candidate : candidates) {
    size_t longer = std::max(name.size(), candidate.size());
    if (longer > longestName)
      continue;
    size_t distance = editDistance(name, candidate);
    if (distance <= std::max<size_t>(1, longer / 3))
      ranked.emplace_back(distance, candidate);
  }
  std::sort(ranked.begin(), ranked.end());
  ranked.erase(std::unique(ranked.begin(), ranked.end()), ranked.end());
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(limit, ranked.size()); ++i)
    names.push_back(ranked[i].second);
  return names;
}

std::string quotedList(std::span<const std::string> names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "'" : ", '") + name + "'";
  return text;
}

} // namespace writ
