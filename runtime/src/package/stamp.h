//===- stamp.h - which files an earlier open has hashed -------------------===//
//
// `.writ-stamp` of a package names the files whose digests were found to be the lock's, by size and
// times (docs/decisions/006). It guards against accidents, not against who can write both.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "package/lock.h"
#include "support/file.h"

#include <functional>
#include <vector>

namespace writ {

struct StampedFile {
  const LockedFile &locked;
  const FileIdentity &identity;
  /// The digest of what was opened, lower-case hexadecimal.
  std::function<std::string()> hash;
};

enum class StampResult {
  trusted,  ///< an earlier open had hashed the same files
  hashed,   ///< now, and the stamp says so
  unstamped ///< now, and again at each open: the stamp cannot be written
};

/// Throws Failure(WRIT_DIGEST_MISMATCH), which names the file. `verify`: hash whatever the stamp
/// says.
StampResult checkStamped(const std::string &folder, const std::vector<StampedFile> &files,
                         bool verify);

} // namespace writ
