//===- Output.cpp - what goes to standard output --------------------------===//
#include "compiler/Tools/writ/Output.h"

#include "compiler/Tools/writ/Session.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace writ::tool {
namespace {

[[noreturn]] void cannotWrite(int error) {
  throw EnvironmentError({"standard output"}, "E002",
                         std::string("cannot be written: ") + std::strerror(error));
}

} // namespace

void holdStandardStreams() {
  // open() gives the lowest free descriptor, which is the closed one.
  for (int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(descriptor, F_GETFD) < 0 && errno == EBADF)
      (void)!open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

void print(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
    cannotWrite(errno);
}

void printLine(std::string_view text) {
  print(text);
  print("\n");
}

std::string megabytes(int64_t bytes) {
  return fmt::format("{:.1f} MB", double(bytes) / 1e6);
}

void flushOutput() {
  if (std::fflush(stdout) != 0)
    cannotWrite(errno);
}

} // namespace writ::tool
