//===- weights.h - the packed weights of a package ------------------------===//
#pragma once

#include "package/lock.h"
#include "support/file.h"
#include "writ/writ.h"

namespace writ {

/// The weights file, mapped.
class Weights {
public:
  Weights() = default;
  /// Throws Failure: WRIT_IO_ERROR, or WRIT_BAD_PACKAGE where the file's size or header is not what
  /// the lock says.
  Weights(const std::string &folder, const Lock &lock);

  /// Packed data, aligned to 64 bytes.
  const std::byte *data() const { return file.bytes().data() + offset; }
  const FileIdentity &identity() const { return file.identity(); }
  /// SHA-256 of the whole file; tells the log how far it is. Throws Failure(WRIT_IO_ERROR).
  std::string hash(const writ_open_options &options) const;

  /// WRIT_IO_ERROR where the file has another size or modification time than when it was opened.
  writ_status unchanged(writ_error *error) const;
  /// MappedFile::replaceFrom.
  bool replaceFrom(const void *address) const { return file.replaceFrom(address); }

private:
  std::string name;
  MappedFile file;
  int64_t offset = 0;
};

} // namespace writ
