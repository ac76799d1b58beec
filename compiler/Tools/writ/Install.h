//===- Install.h - where the tool and its data lie ------------------------===//
#pragma once

#include "compiler/Resolve/Catalog.h"

#include <string>

namespace writ::tool {

/// The root that holds bin/, lib/, include/ and share/writ/, found from the running executable.
std::string installRoot();
/// The folder of the running executable's file.
std::string executablePath();
/// The catalog's folders: below `data`, or the installed ones where it is empty.
CatalogPaths dataPaths(const std::string &data);
/// The functions of the kernels and of the reference that this tool is linked with.
KnownFunctions linkedFunctions();
/// ${XDG_CACHE_HOME:-~/.cache}/writ. It decides where compiled packages are kept, not what is in
/// them.
std::string cacheRoot();

} // namespace writ::tool
