//===- FileIO.h - whole files in, whole files out -------------------------===//
//
// Errors are E001 (reading) and E002 (writing), at the file, with the system's reason.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
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

  std::string path, temporary;
  int descriptor = -1;
};

/// A regular file mapped read-only. The bytes are those of the file: who truncates it meanwhile
/// takes them away from the reader (SIGBUS), as with every mapping.
class MappedFile {
public:
  explicit MappedFile(const std::string &path);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  std::span<const std::byte> bytes() const { return {data, size}; }
  /// Gives the whole pages inside [offset, offset + length) back to the system; they are read again
  /// when they are touched.
  void release(size_t offset, size_t length) const;

private:
  const std::byte *data = nullptr;
  size_t size = 0;
};

} // namespace writ
