//===- FileIO.h - whole files in, whole files out -------------------------===//
//
// Errors are E001 (reading) and E002 (writing), at the file, with the system's reason.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <ctime>
#include <span>
#include <string>
#include <string_view>

namespace writ {

/// The bytes of a regular file or a pipe. E001.
std::string readFile(const std::string &path);

/// Replaces a file by `bytes`; readers see the old file or the new one, never a part (AtomicFile).
void writeFileAtomically(const std::string &path, std::string_view bytes);

/// A file under a temporary name in the directory of `path`, which takes its place at commit().
/// Without a commit the temporary file is removed and `path` is as it was. For one thread.
///
/// A large file is written in pieces of a large page, each at a multiple of its size: a file system
/// that can keeps it in large pages of the page cache, which who maps the file then has as such.
class AtomicFile {
public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;

  void write(std::string_view bytes);
  /// fsync, rename, fsync of the directory: durable on return.
  void commit();

private:
  [[noreturn]] void fail(const char *action, int error);

  void flush(std::string_view bytes);

  std::string path, temporary;
  std::string piece; ///< bytes that are not yet written, fewer than a large page
  int descriptor = -1;
};

/// A regular file mapped read-only, and open as long. The bytes are those of the file: who
/// truncates it meanwhile takes them away from the reader (SIGBUS), as with every mapping. read()
/// gives an error instead.
class MappedFile {
public:
  explicit MappedFile(const std::string &path);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  std::span<const std::byte> bytes() const { return {data, size}; }
  /// Copies the bytes from `offset` on, through the file and not the mapping. E001, also where the
  /// file has become shorter.
  void read(size_t offset, std::span<std::byte> into) const;
  /// E001 where size or modification time are no longer those of the opening.
  void requireUnchanged() const;

private:
  std::string path;
  int descriptor = -1;
  const std::byte *data = nullptr;
  size_t size = 0;
  timespec modified{};
};

} // namespace writ
