//===- PackageCache.cpp - packages that `writ run MODEL` keeps ------------===//
#include "compiler/Tools/writ/PackageCache.h"

#include "compiler/Support/Digest.h"
#include "compiler/Support/FileIO.h"
#include "compiler/Tools/writ/Compile.h"
#include "compiler/Tools/writ/HostBuild.h"
#include "compiler/Tools/writ/Install.h"
#include "compiler/Tools/writ/Output.h"
#include "compiler/Tools/writ/ProgressLine.h"
#include "compiler/Tools/writ/Session.h"
#include "compiler/Tools/writ/Staging.h"
#include "writ/package_format.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

namespace writ::tool {
namespace fs = std::filesystem;
namespace {

std::string packagesFolder() {
  return cacheRoot() + "/packages";
}

/// Creates the folder of the packages, and looks whether something can be put there.
void makePackagesFolder() {
  const std::string path = packagesFolder();
  std::error_code error;
  fs::create_directories(path, error);
  if (!error && access(path.c_str(), W_OK | X_OK) != 0)
    error.assign(errno, std::generic_category());
  if (error)
    throw EnvironmentError({path}, "E002", "cannot be written: " + error.message(),
                           {{{},
                             "the package of a model file is kept there; let XDG_CACHE_HOME name a "
                             "folder that can be written, or use `writ compile -o`"}});
}

/// What is remembered saves time, no more: where it cannot be kept, it is computed again.
void remember(const std::string &folder, const std::string &file, const std::string &digest) {
  std::error_code error;
  fs::create_directories(folder, error);
  try {
    writeFileAtomically(file, digest);
  } catch (const Error &) {
  }
}

/// Every JSON file of the data, byte for byte: chat templates and evidence decide as contracts,
/// maps and circuits do, and a position in a file stands in the package.
nlohmann::json dataDigests(const CatalogPaths &paths) {
  nlohmann::json digests = nlohmann::json::object();
  for (const std::string &folder : {paths.contracts, paths.kernelMaps, paths.circuits}) {
    std::error_code error; // what cannot be read is an error of the compile
    for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
         it.increment(error))
      if (it->path().extension() == ".json")
        digests[(fs::path(folder).filename() / it->path().lexically_relative(folder)).string()] =
            sha256File(it->path().string());
  }
  return digests;
}

/// Everything that decides what a package holds, and whether there is one.
nlohmann::json keyOf(const std::string &model, const CompileOptions &options) {
  const std::string root = installRoot();
  return {{"model", rememberedDigest(model)},
          {"data", dataDigests(dataPaths(options.data))},
          {"compiler", rememberedDigest(executablePath())},
          {"runtime", rememberedDigest(root + "/lib/libwrit_runtime.so")},
          {"host_compiler", hostCompilerVersion(options.cxx)},
          {"profile", options.profile},
          {"target", options.target},
          {"kv", options.kv},
          {"least_isa", options.leastIsa},
          // What was refused is not kept, and what is kept was not asked for this.
          {"require", options.require},
          {"bringup", options.bringup}};
}

} // namespace

std::string rememberedDigest(const std::string &path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0)
    return sha256File(path); // says why it cannot be read
  const std::string key = sha256(fmt::format(
      "{} {} {} {}.{} {}.{}", info.st_dev, info.st_ino, info.st_size, info.st_mtim.tv_sec,
      info.st_mtim.tv_nsec, info.st_ctim.tv_sec, info.st_ctim.tv_nsec));
  const std::string folder = cacheRoot() + "/digests", file = folder + "/" + key;
  std::error_code error;
  if (fs::exists(file, error))
    if (std::string digest = readFile(file); digest.size() == 64)
      return digest;
  ProgressLine line("hashing " + fs::path(path).filename().string());
  const std::string digest =
      sha256File(path, [&](uint64_t bytes) { line.show(double(bytes) / double(info.st_size)); });
  remember(folder, file, digest);
  return digest;
}

std::string cachedPackage(const std::string &model, const CompileOptions &options) {
  const std::string key = sha256Json(keyOf(model, options));
  const std::string folder = packagesFolder() + "/" + key;
  std::error_code error;
  if (fs::exists(folder + "/" + kLibraryFile, error))
    return folder;
  makePackagesFolder();
  CompileCommand command;
  command.model = model;
  command.output = folder;
  command.options = options;
  compilePackage(command);
  return folder;
}

void removeCachedPackage(const std::string &package) {
  std::error_code error;
  fs::remove_all(package, error);
}

/// Adds a diagnostic where a folder is still there.
static void removeFolder(const fs::path &folder, std::vector<Diagnostic> &failures) {
  std::error_code error;
  fs::remove_all(folder, error);
  if (error)
    failures.push_back({{folder.string()}, "E002", "cannot be removed: " + error.message(), {}});
}

int runCache(const CacheCommand &command) {
  const std::string folder = packagesFolder();
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  std::error_code error;
  std::vector<fs::path> packages;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    packages.push_back(it->path());
  std::sort(packages.begin(), packages.end());
  std::vector<Diagnostic> failures;
  for (const fs::path &package : packages) {
    if (command.prune && isBeingWritten(package)) {
      std::fprintf(stderr, "writ: note: %s is being written, and stays\n", package.c_str());
      continue;
    }
    uintmax_t bytes = 0;
    for (const fs::directory_entry &entry : fs::recursive_directory_iterator(package, error))
      if (entry.is_regular_file(error))
        bytes += entry.file_size(error);
    std::string name = "incomplete", profile;
    try {
      const nlohmann::json lock = nlohmann::json::parse(readFile((package / kLockFile).string()));
      name = lock.at("model").at("name").get<std::string>();
      profile = lock.at("profile").at("id").get<std::string>();
    } catch (const std::exception &) {
      // What a killed compile left: shown, and pruned with the rest.
    }
    const size_t failed = failures.size();
    if (command.prune)
      removeFolder(package, failures);
    if (failures.size() == failed)
      list.push_back(
          {{"path", package.string()}, {"model", name}, {"profile", profile}, {"bytes", bytes}});
  }
  if (command.prune)
    removeFolder(cacheRoot() + "/digests", failures);
  if (command.json)
    printLine(list.dump(2));
  for (const auto &package : command.json ? nlohmann::ordered_json::array() : list)
    printLine(fmt::format("{}{}  {}  {}  {}", command.prune ? "removed " : "",
                          package["path"].get<std::string>(), package["model"].get<std::string>(),
                          package["profile"].get<std::string>(),
                          megabytes(package["bytes"].get<int64_t>())));
  if (packages.empty() && !command.json)
    printLine(fmt::format("no package is cached in {}", folder));
  if (!failures.empty())
    throw EnvironmentError(failures);
  return exitOk;
}

} // namespace writ::tool
