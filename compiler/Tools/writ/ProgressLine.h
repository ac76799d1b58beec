//===- ProgressLine.h - how far something is, on a terminal ---------------===//
#pragma once

#include <chrono>
#include <string>

namespace writ::tool {

/// A line of standard error that each next share replaces, and that is cleared at the end. Nothing
/// where standard error is no terminal.
class ProgressLine {
public:
  explicit ProgressLine(std::string what);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine &) = delete;
  ProgressLine &operator=(const ProgressLine &) = delete;

  /// 0 to 1; a few times a second are shown.
  void show(double share);
  /// True where a line stood there.
  bool clear();

private:
  using Clock = std::chrono::steady_clock;
  std::string what;
  bool terminal, drawn = false;
  Clock::time_point last;
};

} // namespace writ::tool
