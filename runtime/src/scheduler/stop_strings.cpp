#include "scheduler/stop_strings.h"

#include <algorithm>

namespace writ {

std::string StopStrings::push(std::string_view text) {
  if (found)
    return {};
  held += text;
  size_t end = std::string::npos;
  for (const std::string &string : strings)
    end = std::min(end, held.find(string));
  if (end != std::string::npos) {
    found = true;
    std::string shown = held.substr(0, end);
    held.clear();
    return shown;
  }
  // The longest end of the text that is a beginning of a stop string.
  size_t keep = 0;
  for (const std::string &string : strings)
    for (size_t length = std::min(held.size(), string.size() - 1); length > keep; --length)
      if (held.compare(held.size() - length, length, string, 0, length) == 0)
        keep = length;
  std::string shown = held.substr(0, held.size() - keep);
  held.erase(0, shown.size());
  return shown;
}

std::string StopStrings::finish() {
  return std::move(held);
}

} // namespace writ
