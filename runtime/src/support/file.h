//===- file.h - reading, mapping and replacing files ----------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
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
/// Replaces the file at once, so that a reader sees the old or the new one. False on failure.
bool replaceFile(const std::string &path, std::string_view contents);

/// A file mapped read-only and shared: its pages are the page cache's.
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

private:
  void swap(MappedFile &other) {
    std::swap(base, other.base);
    std::swap(fileIdentity, other.fileIdentity);
  }
  const std::byte *base = nullptr;
  FileIdentity fileIdentity;
};

} // namespace writ
