//===- Install.cpp - where the tool and its data lie ----------------------===//
#include "compiler/Tools/writ/Install.h"

#include "ir/Reference/Reference.h"
#include "writ/kernel_abi.h"
#include "writ/kernel_table.h"

#include <cstdlib>
#include <filesystem>

namespace writ::tool {
namespace fs = std::filesystem;

std::string executablePath() {
  std::error_code error;
  fs::path path = fs::read_symlink("/proc/self/exe", error);
  if (error)
    throw Error({"/proc/self/exe"}, "E001", "cannot read: " + error.message());
  return path.string();
}

std::string installRoot() {
  return fs::path(executablePath()).parent_path().parent_path().string();
}

CatalogPaths dataPaths(const std::string &data) {
  return CatalogPaths::below(data.empty() ? installRoot() + "/share/writ" : data);
}

KnownFunctions linkedFunctions() {
  return {
      [](std::string_view name) { return reference::findReference(std::string(name)) != nullptr; },
      [](std::string_view id) { return writ_find_provider(std::string(id).c_str()) != nullptr; }};
}

std::string cacheRoot() {
  // environment: does not change numerics
  if (const char *cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
    return std::string(cache) + "/writ";
  // environment: does not change numerics
  const char *home = std::getenv("HOME");
  return std::string(home && *home ? home : "/tmp") + "/.cache/writ";
}

} // namespace writ::tool
