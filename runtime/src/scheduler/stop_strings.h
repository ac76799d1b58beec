//===- stop_strings.h - text up to a stop string --------------------------===//
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace writ {

/// Passes text on, except what may be the beginning of a stop string, until it is known.
class StopStrings {
public:
  /// No string is empty.
  explicit StopStrings(std::vector<std::string> strings) : strings(std::move(strings)) {}

  /// What may be shown now. After a stop string was met, nothing more.
  std::string push(std::string_view text);
  /// What was held back, at the end of the text.
  std::string finish();
  bool met() const { return found; }

private:
  std::vector<std::string> strings;
  std::string held;
  bool found = false;
};

} // namespace writ
