#include "compiler/Tools/writ/LockedFile.h"

#include "compiler/Support/Digest.h"
#include "compiler/Support/FileIO.h"
#include "writ/package_format.h"
#include "writ/tokenizer.h"

#include <algorithm>
#include <fmt/format.h>

namespace writ::tool {

Json readLock(const std::string &package) {
  const std::string path = package + "/" + kLockFile;
  Json lock = parseJson(readFile(path), path);
  if (const Json &version = lock.at("package_version"); version.asInteger() != kPackageVersion)
    throw Error(version.location(), "E050",
                fmt::format("package_version is {}, this tool reads {}; compile the model again",
                            version.asInteger(), kPackageVersion));
  return lock;
}

std::vector<LockedFile> lockedFiles(const Json &lock) {
  std::vector<LockedFile> files;
  for (const char *part : {"weights", "tokenizer", "chat"})
    if (const Json *named = lock.find(part))
      files.push_back({named->at("file").asString(), &named->at("sha256")});
  const Json &tables = lock.at("tokenizer").at("tables");
  files.push_back({tables.at("file").asString(), &tables.at("sha256")});
  for (const Json::Member &member : lock.at("files").members())
    files.push_back({member.key, &member.value});
  return files;
}

std::string tokenizerTables(const std::string &path, const std::string &text) {
  TokenizerData data;
  std::string error;
  std::optional<std::string> tables;
  if (readTokenizerData(text, &data, &error))
    tables = compileTokenizer(data, &error);
  if (!tables)
    throw Error({path}, "E040", error);
  return *tables;
}

void requireDigest(const std::string &path, const std::string &digest, const Json &named) {
  if (digest != named.asString())
    throw Error({path}, "E050", fmt::format("it has SHA-256 {}; compile the model again", digest),
                {{named.location(), fmt::format("the lock names {}", named.asString())}});
}

std::string readLockedFile(const std::string &package, const std::string &file) {
  const Json lock = readLock(package);
  const std::vector<LockedFile> files = lockedFiles(lock);
  const auto locked = std::find_if(files.begin(), files.end(),
                                   [&](const LockedFile &entry) { return entry.file == file; });
  const std::string path = package + "/" + file;
  std::string text = readFile(path);
  requireDigest(path, sha256(text),
                locked == files.end() ? lock.at("files").at(file) : *locked->sha256);
  return text;
}

} // namespace writ::tool
