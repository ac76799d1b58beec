//===- AtomicFile.cpp - a file that appears whole or not at all -----------===//
#include "compiler/Support/FileIO.h"

#include "compiler/Diagnostics/Diagnostic.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace writ {

static constexpr size_t kLargePage = size_t(2) << 20; ///< of x86-64 and of AArch64 with 4 KiB

static std::string directoryOf(const std::string &path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos)
    return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

AtomicFile::AtomicFile(std::string target) : path(std::move(target)) {
  // Process id and counter make the name; O_EXCL tries the next one where a stale file has it.
  static std::atomic<unsigned> counter{0};
  for (int tries = 0; tries < 100; ++tries) {
    temporary = path + ".tmp." + std::to_string(::getpid()) + "." + std::to_string(counter++);
    descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0)
      return;
    if (errno != EEXIST)
      break;
  }
  int error = errno;
  temporary.clear();
  fail("create a file beside it", error);
}

AtomicFile::~AtomicFile() {
  if (descriptor >= 0)
    ::close(descriptor);
  if (!temporary.empty())
    ::unlink(temporary.c_str());
}

void AtomicFile::fail(const char *action, int error) {
  throw Error(Location{path}, "E002",
              std::string("cannot write the file: cannot ") + action + ": " + std::strerror(error));
}

void AtomicFile::write(std::string_view bytes) {
  while (piece.size() + bytes.size() >= kLargePage) {
    if (piece.empty()) {
      flush(bytes.substr(0, kLargePage));
      bytes.remove_prefix(kLargePage);
      continue;
    }
    const size_t rest = kLargePage - piece.size();
    piece += bytes.substr(0, rest);
    bytes.remove_prefix(rest);
    flush(piece);
    piece.clear();
  }
  piece += bytes;
}

void AtomicFile::flush(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      fail("write to the temporary file", errno);
    bytes.remove_prefix(static_cast<size_t>(count));
  }
}

void AtomicFile::commit() {
  flush(piece);
  piece.clear();
  if (::fsync(descriptor) != 0)
    fail("flush the temporary file", errno);
  int closed = ::close(descriptor);
  descriptor = -1;
  if (closed != 0)
    fail("close the temporary file", errno);
  if (::rename(temporary.c_str(), path.c_str()) != 0)
    fail("rename the temporary file", errno);
  temporary.clear();
  // The new name must survive a crash too. A file system without directory fsync says EINVAL.
  int directory = ::open(directoryOf(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0)
    return; // a directory that may be searched but not read: nothing more can be done
  int result = ::fsync(directory);
  int error = errno;
  ::close(directory);
  if (result != 0 && error != EINVAL)
    fail("flush the directory", error);
}

void writeFileAtomically(const std::string &path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

} // namespace writ
