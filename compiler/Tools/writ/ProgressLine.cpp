//===- ProgressLine.cpp - how far something is, on a terminal -------------===//
#include "compiler/Tools/writ/ProgressLine.h"

#include <algorithm>
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

void ReadingLine::afterKernel(void *user, const writ_step *step, uint32_t, const writ_provider *,
                              const void *) {
  ReadingLine &self = *static_cast<ReadingLine *>(user);
  if (!step->rows || step->rows->position[0] >= self.tokens) // a draw, or a token that was drawn
    return;
  const int64_t position = step->rows->position[0];
  self.calls = position == self.firstPosition ? self.calls + 1 : 1;
  self.firstPosition = position;
  const double share = double(self.calls) / double(std::max(self.callsOfStep, self.calls));
  self.line.show((double(position) + share * double(step->rows->count)) / double(self.tokens));
}

} // namespace writ::tool
