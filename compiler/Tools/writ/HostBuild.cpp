//===- HostBuild.cpp - building a package with the host compiler ----------===//
#include "compiler/Tools/writ/HostBuild.h"

#include "compiler/Support/FileIO.h"
#include "compiler/Tools/writ/Install.h"
#include "compiler/Tools/writ/Session.h"
#include "compiler/Tools/writ/Staging.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
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

constexpr const char *kTemporary = "/tmp";
constexpr const char *kBuildMark = "writ-build-"; ///< and the process id, and kUnique
constexpr std::string_view kUnique = "-XXXXXX";   ///< as mkdtemp fills it in

/// A folder below /tmp that is removed; what a killed process left there is removed by the next
/// one. Its name is plain, which that of a package need not be: in a path, `;`, `"` and `$` mean
/// something to CMake and to make.
class PlainFolder {
public:
  PlainFolder() : name(fmt::format("{}/{}{}{}", kTemporary, kBuildMark, getpid(), kUnique)) {
    removeAbandoned(kTemporary, kBuildMark, kUnique.size());
    if (!mkdtemp(name.data()))
      throw EnvironmentError({kTemporary}, "E002",
                             fmt::format("cannot be written: {}", strerror(errno)));
    lock = lockFolder(name);
  }
  ~PlainFolder() {
    std::error_code error;
    fs::remove_all(name, error);
    close(lock);
  }
  PlainFolder(const PlainFolder &) = delete;
  PlainFolder &operator=(const PlainFolder &) = delete;
  const std::string &path() const { return name; }

private:
  std::string name;
  int lock = -1;
};

void copy(const std::string &from, const std::string &to, const std::string &shown) {
  std::error_code error;
  fs::copy(from, to, fs::copy_options::recursive, error);
  if (error)
    throw EnvironmentError({shown}, "E002", "cannot be written: " + error.message());
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

/// `folder`, where it was built, is named as it is `shown`.
[[noreturn]] void fail(const std::string &shown, const std::string &what, const std::string &log,
                       const std::string &folder) {
  std::string said = excerpt(log);
  for (size_t at = 0; (at = said.find(folder, at)) != std::string::npos; at += shown.size())
    said.replace(at, folder.size(), shown);
  throw EnvironmentError({shown}, "E060", fmt::format("the emitted code was not built: {}", what),
                         {{{shown + "/build.log"}, "the build said:" + said},
                          {{},
                           "install a C++20 compiler (g++ 12 or clang 14) and cmake, or name one "
                           "with --cxx"}});
}

} // namespace

// The group of processes makes it possible that all ends at Ctrl-C: CMake does not pass a signal
// on.
int runProgram(const std::vector<std::string> &words, const std::string &log) {
  std::vector<char *> arguments;
  for (const std::string &word : words)
    arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP); // group 0: the child's own
  pid_t child;
  // environment: does not change numerics
  const int started =
      posix_spawnp(&child, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (started != 0) {
    errno = started;
    return -1;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return -1;
    else if (*interruptFlag())
      kill(-child, SIGTERM);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string hostCompilerVersion(const std::string &cxx) {
  const std::string name = cxx.empty() ? "c++" : cxx;
  std::string path = fmt::format("{}/writ-cxx{}", kTemporary, kUnique);
  const int file = mkstemp(path.data());
  if (file < 0)
    throw EnvironmentError({kTemporary}, "E002",
                           fmt::format("cannot be written: {}", strerror(errno)));
  close(file);
  const int status = runProgram({name, "--version"}, path);
  const int reason = errno;
  const std::string text = readFile(path);
  unlink(path.c_str());
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
  const PlainFolder folder;
  const std::string &source = folder.path();
  const std::string tree = source + "/tree", built = source + "/lib";
  const std::string log = package + "/build.log";
  copy(package + "/CMakeLists.txt", source + "/CMakeLists.txt", source);
  copy(package + "/src", source + "/src", source);
  std::vector<std::string> configure = {
      "cmake", "-S", source, "-B", tree, "-DCMAKE_BUILD_TYPE=Release",
      "-DCMAKE_CXX_FLAGS=", // not those of the environment
      "-DCMAKE_LIBRARY_OUTPUT_DIRECTORY=" + built, "-DCMAKE_ARCHIVE_OUTPUT_DIRECTORY=" + built,
      // Who opens the library has loaded the runtime: no path of this machine need say where it is.
      "-DCMAKE_SKIP_RPATH=ON", "-DWRIT_ROOT=" + installRoot(),
      "-DCMAKE_CXX_COMPILER=" + (cxx.empty() ? "c++" : cxx)};
  int status = runProgram(configure, log);
  if (status != 0)
    fail(shown,
         status < 0 ? fmt::format("cmake does not start: {}", strerror(errno))
                    : fmt::format("cmake ended with {}", status),
         log, source);
  status = runProgram({"cmake", "--build", tree, "--parallel", "2"}, log);
  if (status != 0)
    fail(shown, fmt::format("the compiler ended with {}", status), log, source);
  copy(built, package + "/lib", shown + "/lib");
  std::error_code error;
  fs::remove(log, error);
}

} // namespace writ::tool
