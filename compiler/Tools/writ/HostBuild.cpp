//===- HostBuild.cpp - building a package with the host compiler ----------===//
#include "compiler/Tools/writ/HostBuild.h"

#include "compiler/Support/FileIO.h"
#include "compiler/Tools/writ/Install.h"
#include "compiler/Tools/writ/Session.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

// environment: does not change numerics
extern char **environ;

namespace writ::tool {
namespace fs = std::filesystem;
namespace {

/// Runs a program without a shell, its output in `log` (appended). Returns its exit status, or -1
/// with errno where it cannot be started.
int run(const std::vector<std::string> &words, const std::string &log) {
  std::vector<char *> arguments;
  for (const std::string &word : words)
    arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child;
  // environment: does not change numerics
  const int started =
      posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (started != 0) {
    errno = started;
    return -1;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// The lines of a build log that tell what went wrong: a few, from the first one on that has
/// "error:" (a compiler's) or else "rror" (CMake's "CMake Error at").
std::string excerpt(const std::string &log) {
  std::string text;
  try {
    text = readFile(log);
  } catch (const Error &) {
    return "";
  }
  size_t error = text.find("error:");
  if (error == std::string::npos)
    error = text.find("rror");
  size_t begin = error == std::string::npos ? 0 : text.rfind('\n', error);
  begin = begin == std::string::npos ? 0 : begin;
  size_t end = begin;
  for (int lines = 0; lines < 12 && end != std::string::npos; ++lines)
    end = text.find('\n', end + 1);
  return text.substr(begin, end == std::string::npos ? end : end - begin);
}

[[noreturn]] void fail(const std::string &shown, const std::string &what, const std::string &log) {
  throw EnvironmentError({shown}, "E060", fmt::format("the emitted code was not built: {}", what),
                         {{{shown + "/build.log"}, "the build said:" + excerpt(log)},
                          {{},
                           "the sources are kept; install a C++20 compiler (g++ 12 or clang 14) "
                           "and cmake, or name one with --cxx"}});
}

} // namespace

std::string hostCompilerVersion(const std::string &cxx) {
  const std::string name = cxx.empty() ? "c++" : cxx;
  char path[] = "/tmp/writ-cxx-XXXXXX";
  const int file = mkstemp(path);
  if (file < 0)
    throw EnvironmentError({"/tmp"}, "E002", fmt::format("cannot be written: {}", strerror(errno)));
  close(file);
  const int status = run({name, "--version"}, path);
  const int reason = errno;
  const std::string text = readFile(path);
  unlink(path);
  if (status != 0)
    throw EnvironmentError({name}, "E060",
                           fmt::format("the host compiler does not run: {}",
                                       status < 0 ? strerror(reason) : "it failed"),
                           {{{},
                             "install a C++20 compiler (g++ 12 or clang 14), or name one with "
                             "--cxx"}});
  return text.substr(0, text.find('\n'));
}

void buildPackage(const std::string &package, const std::string &shown, const std::string &cxx) {
  hostCompilerVersion(cxx);
  const std::string tree = package + "/.build", log = package + "/build.log";
  std::vector<std::string> configure = {"cmake",
                                        "-S",
                                        package,
                                        "-B",
                                        tree,
                                        "-DCMAKE_BUILD_TYPE=Release",
                                        "-DCMAKE_CXX_FLAGS=", // not those of the environment
                                        "-DCMAKE_LIBRARY_OUTPUT_DIRECTORY=" + package + "/lib",
                                        "-DCMAKE_ARCHIVE_OUTPUT_DIRECTORY=" + package + "/lib",
                                        "-DWRIT_ROOT=" + installRoot(),
                                        "-DCMAKE_CXX_COMPILER=" + (cxx.empty() ? "c++" : cxx)};
  int status = run(configure, log);
  if (status != 0)
    fail(shown,
         status < 0 ? fmt::format("cmake does not start: {}", strerror(errno))
                    : fmt::format("cmake ended with {}", status),
         log);
  status = run({"cmake", "--build", tree, "--parallel", "2"}, log);
  if (status != 0)
    fail(shown, fmt::format("the compiler ended with {}", status), log);
  std::error_code error;
  fs::remove_all(tree, error);
  fs::remove(log, error);
}

} // namespace writ::tool
