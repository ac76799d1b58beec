//===- weights.h - the packed weights of a package ------------------------===//
#pragma once

#include "package/lock.h"
#include "support/file.h"
#include "writ/writ.h"

namespace writ {

/// The weights file, mapped, of which it is known that its digest is the lock's: because it was
/// hashed just now, or because the stamp of an earlier open names the same file by size and times.
class Weights {
public:
  Weights() = default;
  /// Throws Failure: WRIT_IO_ERROR, WRIT_DIGEST_MISMATCH, or WRIT_BAD_PACKAGE where the file's size
  /// or header is not what the lock says.
  Weights(const std::string &folder, const Lock &lock, const writ_open_options &options);

  /// Packed data, aligned to 64 bytes.
  const std::byte *data() const { return file.bytes().data() + offset; }
  bool wasHashed() const { return hashed; }

  /// WRIT_IO_ERROR where the file has another size or modification time than when it was opened.
  writ_status unchanged(writ_error *error) const;
  /// MappedFile::replaceFrom.
  bool replaceFrom(const void *address) const { return file.replaceFrom(address); }

private:
  void check(const std::string &folder, const Lock &lock, const writ_open_options &options);

  std::string name;
  MappedFile file;
  int64_t offset = 0;
  bool hashed = false;
};

} // namespace writ
