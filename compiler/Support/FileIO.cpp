//===- FileIO.cpp - reading files -----------------------------------------===//
#include "compiler/Support/FileIO.h"

#include "compiler/Diagnostics/Diagnostic.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace writ {

namespace {

/// A descriptor that closes itself.
struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0)
      ::close(value);
  }
};

} // namespace

[[noreturn]] static void cannotRead(const std::string &path, const std::string &reason) {
  throw Error(Location{path}, "E001", "cannot read the file: " + reason);
}

[[noreturn]] static void cannotRead(const std::string &path, int error) {
  cannotRead(path, std::strerror(error));
}

static int openForReading(const std::string &path) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    cannotRead(path, errno);
  return descriptor;
}

std::string readFile(const std::string &path) {
  Descriptor file{openForReading(path)};
  std::string text;
  struct stat status;
  if (::fstat(file.value, &status) == 0 && S_ISREG(status.st_mode))
    text.reserve(static_cast<size_t>(status.st_size));
  char buffer[1 << 16];
  while (true) {
    ssize_t count = ::read(file.value, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      cannotRead(path, errno);
    if (count == 0)
      return text;
    text.append(buffer, static_cast<size_t>(count));
  }
}

MappedFile::MappedFile(const std::string &path) : path(path) {
  Descriptor file{openForReading(path)};
  struct stat status;
  if (::fstat(file.value, &status) != 0)
    cannotRead(path, errno);
  if (S_ISDIR(status.st_mode))
    cannotRead(path, EISDIR);
  if (!S_ISREG(status.st_mode))
    cannotRead(path, "not a regular file, so that it cannot be mapped");
  size = static_cast<size_t>(status.st_size);
  modified = status.st_mtim;
  if (size != 0) { // mmap refuses a length of 0
    void *address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.value, 0);
    if (address == MAP_FAILED)
      cannotRead(path, errno);
    data = static_cast<const std::byte *>(address);
  }
  descriptor = std::exchange(file.value, -1);
}

void MappedFile::read(size_t offset, std::span<std::byte> into) const {
  while (!into.empty()) {
    const ssize_t count = ::pread(descriptor, into.data(), into.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      cannotRead(path, errno);
    if (count == 0)
      cannotRead(path, "it became shorter while it was read");
    offset += static_cast<size_t>(count);
    into = into.subspan(static_cast<size_t>(count));
  }
}

void MappedFile::requireUnchanged() const {
  struct stat status;
  if (::fstat(descriptor, &status) != 0)
    cannotRead(path, errno);
  if (static_cast<size_t>(status.st_size) != size || status.st_mtim.tv_sec != modified.tv_sec ||
      status.st_mtim.tv_nsec != modified.tv_nsec)
    cannotRead(path, "it was changed while it was read");
}

MappedFile::~MappedFile() {
  if (data)
    ::munmap(const_cast<std::byte *>(data), size);
  if (descriptor >= 0)
    ::close(descriptor);
}

} // namespace writ
