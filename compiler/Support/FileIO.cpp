//===- FileIO.cpp - reading files -----------------------------------------===//
#include "compiler/Support/FileIO.h"

#include "compiler/Diagnostics/Diagnostic.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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

MappedFile::MappedFile(const std::string &path) {
  Descriptor file{openForReading(path)};
  struct stat status;
  if (::fstat(file.value, &status) != 0)
    cannotRead(path, errno);
  if (S_ISDIR(status.st_mode))
    cannotRead(path, EISDIR);
  if (!S_ISREG(status.st_mode))
    cannotRead(path, "not a regular file, so that it cannot be mapped");
  size = static_cast<size_t>(status.st_size);
  if (size == 0)
    return; // mmap refuses a length of 0
  void *address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.value, 0);
  if (address == MAP_FAILED)
    cannotRead(path, errno);
  data = static_cast<const std::byte *>(address);
}

void MappedFile::release(size_t offset, size_t length) const {
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t begin = (offset + page - 1) / page * page, end = (offset + length) / page * page;
  if (begin < end)
    ::madvise(const_cast<std::byte *>(data) + begin, end - begin, MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  if (data)
    ::munmap(const_cast<std::byte *>(data), size);
}

} // namespace writ
