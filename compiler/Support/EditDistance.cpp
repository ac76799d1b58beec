//===- EditDistance.cpp - the names that a mistyped name may have meant ---===//
#include "compiler/Support/EditDistance.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace writ {

size_t editDistance(std::string_view a, std::string_view b) {
  // Three rows of the table: current[j] is the distance between a[0, i) and b[0, j).
  std::vector<size_t> older(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  std::iota(current.begin(), current.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    std::swap(older, previous);
    std::swap(previous, current);
    current[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      current[j] =
          std::min({previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        current[j] = std::min(current[j], older[j - 2] + 1);
    }
  }
  return current[b.size()];
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
