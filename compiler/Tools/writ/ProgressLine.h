//===- ProgressLine.h - how far something is, on a terminal ---------------===//
#pragma once

#include "writ/kernel_abi.h"

#include <chrono>
#include <cstdint>
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

/// How far the `tokens` of one sequence are read, shown after each kernel of a step: a step may
/// take long where the machine is slow.
class ReadingLine {
public:
  ReadingLine(std::string what, int64_t tokens) : line(std::move(what)), tokens(tokens) {}

  /// A writ_trace; `user` is the ReadingLine.
  static void afterKernel(void *user, const writ_step *step, uint32_t, const writ_provider *,
                          const void *);
  /// `calls` of both phases, which have about as many each.
  void setCalls(int64_t calls) { callsOfStep = calls / 2; }
  void clear() { line.clear(); }

private:
  ProgressLine line;
  int64_t tokens;
  int64_t callsOfStep = 1;
  int64_t firstPosition = -1, calls = 0; ///< of the step in progress
};

} // namespace writ::tool
