//===- Staging.cpp - a package that appears whole or not at all -----------===//
#include "compiler/Tools/writ/Staging.h"

#include "compiler/Tools/writ/Session.h"
#include "compiler/Tools/writ/WritePackage.h"
#include "writ/package_format.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

namespace writ::tool {
namespace fs = std::filesystem;
namespace {

constexpr const char *kMark = ".writing-"; ///< and the process id

bool isPackageFolder(const fs::path &path) {
  std::error_code error;
  return fs::is_directory(path, error) && fs::exists(path / kLockFile, error);
}

void requireReplaceable(const fs::path &place, const std::string &given) {
  std::error_code error;
  if (!fs::exists(place, error) || isPackageFolder(place) ||
      (fs::is_directory(place, error) && fs::is_empty(place, error)))
    return;
  throw Error({given}, "E052",
              "a folder or file stands here that is not a package; it is left alone",
              {{{}, "name another folder with -o, or remove it"}});
}

/// A shell whose folder is exchanged stands in the old one.
void requireNotCurrent(const fs::path &place, const std::string &given) {
  std::error_code error;
  for (fs::path folder = fs::current_path(error); !error; folder = folder.parent_path()) {
    if (fs::equivalent(folder, place, error))
      throw Error({given}, "E052", "the current folder cannot be replaced by a package",
                  {{{}, "name a folder inside it with -o"}});
    error.clear(); // nothing stands at `place`
    if (folder == folder.root_path())
      return;
  }
}

} // namespace

int lockFolder(const fs::path &folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    const int reason = errno;
    close(descriptor);
    errno = reason;
    return -1;
  }
  return descriptor;
}

/// Whether the process that the folder is named after is gone. Elsewhere (another machine, another
/// container) it may live: the lock says.
static bool isAbandoned(const fs::path &folder, const std::string &prefix, size_t unique) {
  const std::string name = folder.filename().string();
  if (!name.starts_with(prefix))
    return false;
  pid_t process = 0;
  const char *end = name.data() + name.size();
  const auto [next, code] = std::from_chars(name.data() + prefix.size(), end, process);
  if (code != std::errc() || size_t(end - next) != unique || process <= 0)
    return false;
  if (process != getpid() && (kill(process, 0) == 0 || errno != ESRCH))
    return false;
  const int descriptor = lockFolder(folder);
  if (descriptor >= 0)
    close(descriptor);
  return descriptor >= 0;
}

bool isBeingWritten(const fs::path &folder) {
  if (folder.filename().string().find(kMark) == std::string::npos)
    return false;
  const int descriptor = lockFolder(folder);
  if (descriptor < 0)
    return errno == EWOULDBLOCK; // whatever else hinders, its removal will tell
  close(descriptor);
  return false;
}

void removeAbandoned(const fs::path &place, const std::string &prefix, size_t unique) {
  std::vector<fs::path> abandoned;
  std::error_code error;
  for (fs::directory_iterator it(place, error), end; !error && it != end; it.increment(error))
    if (isAbandoned(it->path(), prefix, unique))
      abandoned.push_back(it->path());
  for (const fs::path &path : abandoned)
    fs::remove_all(path, error);
}

Staging::Staging(const std::string &output) : given(output) {
  while (given.size() > 1 && given.ends_with('/'))
    given.pop_back();
  std::error_code error;
  this->output = fs::weakly_canonical(fs::absolute(output), error); // a link's folder is replaced
  if (error)
    throw EnvironmentError({given}, "E002", "cannot be made: " + error.message());
  if (!this->output.has_filename()) // a path that ends in '/'
    this->output = this->output.parent_path();
  requireNotCurrent(this->output, given);
  requireReplaceable(this->output, given);
  fs::create_directories(this->output.parent_path(), error);
  if (error)
    throw EnvironmentError({given}, "E002",
                           fmt::format("the folder '{}' cannot be made: {}",
                                       this->output.parent_path().string(), error.message()));
  removeAbandoned(this->output.parent_path(), this->output.filename().string() + kMark);
  const std::string path = this->output.string() + kMark + std::to_string(getpid());
  if (!fs::create_directory(path, error))
    throw EnvironmentError({given}, "E002",
                           fmt::format("cannot be made in '{}': {}",
                                       this->output.parent_path().string(),
                                       error ? error.message() : "a folder of that name is there"));
  folder = path;
  lock = lockFolder(folder);
}

Staging::~Staging() {
  std::error_code error;
  if (!folder.empty())
    fs::remove_all(folder, error);
  if (lock >= 0)
    close(lock);
}

Error Staging::shown(const Error &error) const {
  std::vector<Diagnostic> diagnostics = error.diagnostics();
  for (Diagnostic &diagnostic : diagnostics)
    if (std::string &file = diagnostic.location.file; file.starts_with(folder))
      file = given + file.substr(folder.size());
  return Error(diagnostics);
}

void Staging::commit() {
  moveTo(output);
}

std::string Staging::sourcesPlace() const {
  std::error_code error;
  return fs::exists(output / kLibraryFile, error) ? given + ".failed" : given;
}

void Staging::commitSources() {
  std::error_code error;
  moveTo(fs::exists(output / kLibraryFile, error) ? fs::path(output.string() + ".failed") : output);
}

void Staging::moveTo(const fs::path &place) {
  requireReplaceable(place, given); // something else may have come meanwhile
  std::error_code error;
  const std::span<const char *const> ours = packageEntries();
  for (fs::directory_iterator it(place, error), end; !error && it != end; it.increment(error)) {
    const fs::path name = it->path().filename();
    if (std::find(ours.begin(), ours.end(), name.string()) != ours.end())
      continue;
    std::error_code failed;
    fs::copy(it->path(), folder / name,
             fs::copy_options::recursive | fs::copy_options::copy_symlinks |
                 fs::copy_options::create_hard_links,
             failed);
    if (failed)
      throw EnvironmentError({it->path().string()}, "E002",
                             "this file of yours cannot be kept: " + failed.message());
  }
  if (renameat2(AT_FDCWD, folder.c_str(), AT_FDCWD, place.c_str(), RENAME_NOREPLACE) == 0)
    folder.clear();
  else if (errno != EEXIST ||
           renameat2(AT_FDCWD, folder.c_str(), AT_FDCWD, place.c_str(), RENAME_EXCHANGE) != 0)
    throw EnvironmentError({given}, "E002",
                           fmt::format("cannot be put in place: {}", std::strerror(errno)));
}

} // namespace writ::tool
