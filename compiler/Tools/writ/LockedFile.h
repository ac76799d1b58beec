//===- LockedFile.h - the lock of a package, and what it names ------------===//
//
// For commands that look into a package without opening it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Support/Json.h"

#include <string>
#include <vector>

namespace writ::tool {

/// The lock of a package. E050 where it is of another version.
Json readLock(const std::string &package);

/// A file of a package, by its path in it, and the digest that the lock names.
struct LockedFile {
  std::string file;
  const Json *sha256; ///< in the lock
};
/// The tables of the vocabulary that tokenizer.json, at `path`, says. E040 where it says none.
std::string tokenizerTables(const std::string &path, const std::string &text);

/// All that the lock names: weights, tokenizer, chat template, and what the compiler wrote beside
/// them.
std::vector<LockedFile> lockedFiles(const Json &lock);

/// E050 where the file at `path` has another digest than the lock names.
void requireDigest(const std::string &path, const std::string &digest, const Json &named);

/// The contents of PACKAGE/file. E050 where the lock is of another version or names other contents,
/// E012 where it does not name the file.
std::string readLockedFile(const std::string &package, const std::string &file);

} // namespace writ::tool
