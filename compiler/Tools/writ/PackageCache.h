//===- PackageCache.h - packages that `writ run MODEL` keeps --------------===//
#pragma once

#include "compiler/Tools/writ/Commands.h"

#include <string>

namespace writ::tool {

/// The package of a model file under these options: found in the cache by the digest of everything
/// that decides it (model, data, compiler, runtime, host compiler, options), compiled there
/// otherwise. Returns its folder.
std::string cachedPackage(const std::string &model, const CompileOptions &options);

/// Removes a package that cachedPackage() gave, so that it is compiled anew.
void removeCachedPackage(const std::string &package);

/// SHA-256 of a file, remembered in the cache by device, inode, size and times.
std::string rememberedDigest(const std::string &path);

} // namespace writ::tool
