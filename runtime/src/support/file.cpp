#include "support/file.h"

#include "support/error.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace writ {
namespace {

class Descriptor {
public:
  explicit Descriptor(int number) : number(number) {}
  ~Descriptor() {
    if (number >= 0)
      ::close(number);
  }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  int get() const { return number; }
  int release() { return std::exchange(number, -1); }

private:
  int number;
};

struct stat openedFile(const Descriptor &file, const std::string &path) {
  if (file.get() < 0)
    fail(WRIT_IO_ERROR, "cannot open '{}': {}", path, std::strerror(errno));
  struct stat status;
  if (::fstat(file.get(), &status) != 0)
    fail(WRIT_IO_ERROR, "cannot look at '{}': {}", path, std::strerror(errno));
  if (!S_ISREG(status.st_mode))
    fail(WRIT_IO_ERROR, "'{}' is not a regular file", path);
  return status;
}

void requireSize(const struct stat &status, int64_t limit, const std::string &path) {
  if (status.st_size > limit)
    fail(WRIT_IO_ERROR, "'{}' has {} bytes, more than the {} that such a file may have", path,
         status.st_size, limit);
}

int64_t nanoseconds(const timespec &time) {
  return int64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

FileIdentity identityOf(const struct stat &status) {
  return {status.st_size, nanoseconds(status.st_mtim), nanoseconds(status.st_ctim)};
}

bool writeAll(int file, std::string_view contents) {
  while (!contents.empty()) {
    const ssize_t written = ::write(file, contents.data(), contents.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return false;
    contents.remove_prefix(size_t(written));
  }
  return true;
}

/// Reads exactly `bytes` bytes at `offset`.
void readAt(int file, int64_t offset, void *out, size_t bytes, const std::string &path) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t got =
        ::pread(file, static_cast<char *>(out) + done, bytes - done, off_t(offset + int64_t(done)));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      fail(WRIT_IO_ERROR, "cannot read '{}': {}", path, std::strerror(errno));
    if (got == 0)
      fail(WRIT_IO_ERROR, "'{}' became shorter while it was read", path);
    done += size_t(got);
  }
}

} // namespace

std::string readFile(const std::string &path, int64_t limit) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const struct stat status = openedFile(file, path);
  requireSize(status, limit, path);
  std::string contents(size_t(status.st_size), '\0');
  readAt(file.get(), 0, contents.data(), contents.size(), path);
  return contents;
}

FileBytes readBytes(const std::string &path, int64_t limit) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const struct stat before = openedFile(file, path);
  requireSize(before, limit, path);
  auto data = std::make_unique_for_overwrite<std::byte[]>(size_t(before.st_size));
  readAt(file.get(), 0, data.get(), size_t(before.st_size), path);
  if (identityOf(openedFile(file, path)) != identityOf(before))
    fail(WRIT_IO_ERROR, "'{}' was written to while it was read", path);
  return {std::move(data), identityOf(before)};
}

bool overwriteFile(const std::string &path, std::string_view contents) {
  const Descriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644));
  return file.get() >= 0 && writeAll(file.get(), contents);
}

MappedFile::MappedFile(const std::string &path) : path(path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const struct stat status = openedFile(file, path);
  fileIdentity = identityOf(status);
  if (status.st_size > 0) {
    void *memory = ::mmap(nullptr, size_t(status.st_size), PROT_READ, MAP_SHARED, file.get(), 0);
    if (memory == MAP_FAILED)
      fail(WRIT_IO_ERROR, "cannot map '{}' ({} bytes): {}", path, status.st_size,
           std::strerror(errno));
    // What is not in the page cache yet comes in large pages, where the file system has them.
    ::madvise(memory, size_t(status.st_size), MADV_HUGEPAGE);
    ::madvise(memory, size_t(status.st_size), MADV_WILLNEED);
    base = static_cast<const std::byte *>(memory);
  }
  descriptor = file.release();
}

MappedFile::~MappedFile() {
  if (base)
    ::munmap(const_cast<std::byte *>(base), size_t(fileIdentity.size));
  if (descriptor >= 0)
    ::close(descriptor);
}

void MappedFile::read(int64_t offset, std::span<std::byte> out) const {
  readAt(descriptor, offset, out.data(), out.size(), path);
}

std::optional<FileIdentity> MappedFile::now() const {
  struct stat status;
  if (::fstat(descriptor, &status) != 0)
    return std::nullopt;
  return identityOf(status);
}

bool MappedFile::replaceFrom(const void *address) const {
  const auto at = reinterpret_cast<uintptr_t>(address), begin = reinterpret_cast<uintptr_t>(base);
  const uintptr_t end = begin + uintptr_t(fileIdentity.size);
  if (!base || at < begin || at >= end)
    return false;
  const uintptr_t pageSize = uintptr_t(::sysconf(_SC_PAGESIZE)), page = at - at % pageSize;
  return ::mmap(reinterpret_cast<void *>(page), end - page, PROT_READ,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
}

} // namespace writ
