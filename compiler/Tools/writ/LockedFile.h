//===- LockedFile.h - a file of a package that the lock names -------------===//
#pragma once

#include <string>

namespace writ::tool {

/// The contents of PACKAGE/file, for commands that read a package without opening it. E050 where
/// the lock is of another version, does not name the file, or names other contents.
std::string readLockedFile(const std::string &package, const std::string &file);

} // namespace writ::tool
