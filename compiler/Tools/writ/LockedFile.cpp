#include "compiler/Tools/writ/LockedFile.h"

#include "compiler/Support/Digest.h"
#include "compiler/Support/FileIO.h"
#include "compiler/Support/Json.h"
#include "writ/package_format.h"

#include <fmt/format.h>

namespace writ::tool {
namespace {

/// Where the lock names the digest of a file.
const Json &digestOf(const Json &lock, const std::string &file) {
  for (const char *part : {"tokenizer", "chat"})
    if (const Json *named = lock.find(part); named && named->at("file").asString() == file)
      return named->at("sha256");
  return lock.at("files").at(file);
}

} // namespace

std::string readLockedFile(const std::string &package, const std::string &file) {
  const std::string lockPath = package + "/" + kLockFile, path = package + "/" + file;
  const Json lock = parseJson(readFile(lockPath), lockPath);
  if (const Json &version = lock.at("package_version"); version.asInteger() != kPackageVersion)
    throw Error(version.location(), "E050",
                fmt::format("package_version is {}, this tool reads {}; compile the model again",
                            version.asInteger(), kPackageVersion));
  const Json &named = digestOf(lock, file);
  std::string text = readFile(path);
  if (const std::string digest = sha256(text); digest != named.asString())
    throw Error({path}, "E050", fmt::format("it has SHA-256 {}; compile the model again", digest),
                {{named.location(), fmt::format("the lock names {}", named.asString())}});
  return text;
}

} // namespace writ::tool
