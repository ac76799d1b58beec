//===- file.h - reading, mapping and replacing files ----------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace writ {

/// What tells that a file is still the one that was looked at.
struct FileIdentity {
  int64_t size = 0;
  int64_t modifiedNanoseconds = 0; ///< of the contents
  int64_t changedNanoseconds = 0;  ///< of contents or metadata; cannot be set back by a program

  bool operator==(const FileIdentity &) const = default;
};

/// The whole file. Throws Failure(WRIT_IO_ERROR), also where it is larger than `limit` bytes.
std::string readFile(const std::string &path, int64_t limit);
/// A file in memory of its own, and what it was when it was read.
struct FileBytes {
  std::unique_ptr<const std::byte[]> data;
  FileIdentity identity;

  std::span<const std::byte> bytes() const { return {data.get(), size_t(identity.size)}; }
};
/// As readFile; also where the file changed meanwhile.
FileBytes readBytes(const std::string &path, int64_t limit);
/// Writes the file in place: who is killed meanwhile leaves a part of it, and nothing else. A link
/// is not followed. False on failure.
bool overwriteFile(const std::string &path, std::string_view contents);

/// A file mapped read-only and shared: its pages are the page cache's. It stays open, so that it
/// can be asked whether it is still what was mapped.
class MappedFile {
public:
  MappedFile() = default;
  /// Throws Failure(WRIT_IO_ERROR).
  explicit MappedFile(const std::string &path);
  ~MappedFile();
  MappedFile(MappedFile &&other) noexcept { swap(other); }
  MappedFile &operator=(MappedFile &&other) noexcept {
    swap(other);
    return *this;
  }

  std::span<const std::byte> bytes() const { return {base, size_t(fileIdentity.size)}; }
  const FileIdentity &identity() const { return fileIdentity; }

  /// Reads [offset, offset + out.size()) without touching the mapping, whose pages may be gone.
  /// Throws Failure(WRIT_IO_ERROR), also where the file ends earlier.
  void read(int64_t offset, std::span<std::byte> out) const;
  /// What the file is now; nothing where the system does not say.
  std::optional<FileIdentity> now() const;
  /// If `address` lies in the mapping: replaces its page and those after it by zeros, which can be
  /// read whatever became of the file. Async-signal-safe. False where it lies elsewhere.
  bool replaceFrom(const void *address) const;

private:
  void swap(MappedFile &other) {
    std::swap(path, other.path);
    std::swap(descriptor, other.descriptor);
    std::swap(base, other.base);
    std::swap(fileIdentity, other.fileIdentity);
  }
  std::string path;
  int descriptor = -1;
  const std::byte *base = nullptr;
  FileIdentity fileIdentity;
};

} // namespace writ
