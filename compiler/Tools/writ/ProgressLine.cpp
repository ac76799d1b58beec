//===- ProgressLine.cpp - how far something is, on a terminal -------------===//
#include "compiler/Tools/writ/ProgressLine.h"

#include <cstdio>
#include <unistd.h>

namespace writ::tool {

ProgressLine::ProgressLine(std::string what)
    : what(std::move(what)), terminal(isatty(STDERR_FILENO)) {}

void ProgressLine::show(double share) {
  const Clock::time_point now = Clock::now();
  if (!terminal || (drawn && now - last < std::chrono::milliseconds(100)))
    return;
  std::fprintf(stderr, "\rwrit: %s: %.0f %%", what.c_str(), 100 * share);
  std::fflush(stderr);
  drawn = true;
  last = now;
}

bool ProgressLine::clear() {
  if (!drawn)
    return false;
  std::fputs("\r\033[K", stderr);
  drawn = false;
  return true;
}

} // namespace writ::tool
