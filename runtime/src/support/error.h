//===- error.h - failures on their way to the C boundary ------------------===//
//
// Opening and creating throw Failure; what runs inside a step reports into the caller's writ_error,
// because a throw allocates. Both end at `guarded`, so that no exception leaves the library.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "writ/writ.h"

#include <algorithm>
#include <exception>
#include <fmt/format.h>
#include <new>
#include <string>
#include <utility>

namespace writ {

class Failure : public std::exception {
public:
  Failure(writ_status status, std::string text) : code(status), message(std::move(text)) {}
  writ_status status() const { return code; }
  const char *what() const noexcept override { return message.c_str(); }

private:
  writ_status code;
  std::string message;
};

template <class... Args>
[[noreturn]] void fail(writ_status status, fmt::format_string<Args...> format, Args &&...args) {
  throw Failure(status, fmt::format(format, std::forward<Args>(args)...));
}

/// Writes the failure into `error` (may be null), cut to its size, and returns `status`. Allocates
/// nothing.
template <class... Args>
writ_status report(writ_error *error, writ_status status, fmt::format_string<Args...> format,
                   Args &&...args) {
  if (error) {
    error->status = status;
    const auto written =
        fmt::format_to_n(error->text, sizeof error->text - 1, format, std::forward<Args>(args)...);
    error->text[std::min(written.size, sizeof error->text - 1)] = 0;
  }
  return status;
}

/// Runs `action`, which returns a writ_status or throws, and contains every exception.
/// What a handler does, format_to_n into a buffer, throws nothing, which clang-tidy cannot see.
// NOLINTNEXTLINE(bugprone-exception-escape)
template <class Action> writ_status guarded(writ_error *error, Action &&action) noexcept {
  try {
    return action();
  } catch (const Failure &failure) {
    return report(error, failure.status(), "{}", failure.what());
  } catch (const std::bad_alloc &) {
    return report(error, WRIT_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception &exception) {
    return report(error, WRIT_INTERNAL, "internal error: {}", exception.what());
  } catch (...) {
    return report(error, WRIT_INTERNAL, "internal error of unknown kind");
  }
}

} // namespace writ
