#include "package/lock.h"

#include "support/digest.h"
#include "support/error.h"
#include "support/json.h"
#include "writ/packed_layout.h"

#include <algorithm>
#include <initializer_list>

namespace writ {
namespace {

using Json = nlohmann::json;

/// A value in the lock, with its path for messages: "weights.sha256".
class Field {
public:
  Field(const Json &value, std::string path) : value(value), path(std::move(path)) {}

  bool has(const char *key) const {
    return value.is_object() && value.contains(key) && !value.at(key).is_null();
  }
  Field operator[](const char *key) const {
    const std::string full = path.empty() ? key : path + "." + key;
    requireObject();
    if (!value.contains(key))
      fail(WRIT_BAD_PACKAGE, "{}: field '{}' is missing", kLockFile, full);
    return {value.at(key), full};
  }
  /// Refuses members beside the known ones.
  void knows(std::initializer_list<std::string_view> known) const {
    requireObject();
    for (const auto &[key, member] : value.items())
      if (std::find(known.begin(), known.end(), key) == known.end())
        fail(WRIT_BAD_PACKAGE, "{}: field {} is unknown in package_version {}", kLockFile,
             describe(path.empty() ? key : path + "." + key), kPackageVersion);
  }
  std::string text() const {
    if (!value.is_string())
      refuse("a string");
    return value.get<std::string>();
  }
  std::string digest() const {
    std::string digest = text();
    if (!isSha256Hex(digest))
      refuse("64 lower-case hexadecimal digits");
    return digest;
  }
  int64_t size() const {
    if (!value.is_number_integer() ||
        (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX) ||
        value.get<int64_t>() < 0)
      refuse("a whole number of 0 or more");
    return value.get<int64_t>();
  }
  writ_isa isa() const {
    const int32_t isa = writ_isa_from_name(text().c_str());
    if (isa < 0)
      refuse("an instruction set that this library knows");
    return writ_isa(isa);
  }
  bool flag() const {
    if (!value.is_boolean())
      refuse("true or false");
    return value.get<bool>();
  }
  LockedFile file(std::initializer_list<std::string_view> known = {"file", "sha256"}) const {
    knows(known);
    const std::string name = (*this)["file"].text();
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos ||
        name.find('\0') != std::string::npos)
      (*this)["file"].refuse("the name of a file beside the lock");
    return {name, (*this)["sha256"].digest()};
  }

private:
  void requireObject() const {
    if (!value.is_object())
      fail(WRIT_BAD_PACKAGE, "{}: {} is not an object", kLockFile,
           path.empty() ? "the document" : "'" + path + "'");
  }
  [[noreturn]] void refuse(const char *expected) const {
    fail(WRIT_BAD_PACKAGE, "{}: field '{}' is {}, expected {}", kLockFile, path, describe(value),
         expected);
  }
  const Json &value;
  std::string path;
};

} // namespace

Lock parseLock(std::string_view text) {
  const Json json = parseJson(text, kLockFile);
  const Field root(json, "");
  if (const std::string schema = root["schema"].text(); schema != kLockSchema)
    fail(WRIT_VERSION_MISMATCH,
         "{}: schema is '{}', this library reads '{}'; compile the model again", kLockFile, schema,
         kLockSchema);
  if (const int64_t version = root["package_version"].size(); version != kPackageVersion)
    fail(WRIT_VERSION_MISMATCH,
         "{}: package_version is {}, this library reads {}; compile the model again", kLockFile,
         version, kPackageVersion);
  root.knows({"schema", "package_version", "writ_version", "production", "target", "least_isa",
              "model", "circuit", "profile", "contracts", "providers", "resolutions",
              "resolution_sha256", "weights", "tokenizer", "chat", "files"});
  root["model"].knows({"name", "format", "sha256"});
  root["circuit"].knows({"id", "sha256"});
  root["profile"].knows({"id", "sha256"});
  Lock lock;
  lock.production = root["production"].flag();
  if (root.has("least_isa"))
    lock.leastIsa = root["least_isa"].isa();
  lock.modelName = root["model"]["name"].text();
  lock.modelSha256 = root["model"]["sha256"].digest();
  lock.circuit = root["circuit"]["id"].text();
  lock.circuitSha256 = root["circuit"]["sha256"].digest();
  lock.profile = root["profile"]["id"].text();
  lock.profileSha256 = root["profile"]["sha256"].digest();
  lock.resolutionSha256 = root["resolution_sha256"].digest();
  lock.callSha256 = root["files"][kCallFile].digest();
  lock.weights = root["weights"].file({"file", "sha256", "bytes", "data_offset"});
  lock.weightsBytes = root["weights"]["bytes"].size();
  lock.weightsOffset = root["weights"]["data_offset"].size();
  if (lock.weightsOffset % kPackedAlignment != 0)
    fail(WRIT_BAD_PACKAGE, "{}: field 'weights.data_offset' is {}, expected a multiple of {}",
         kLockFile, lock.weightsOffset, kPackedAlignment);
  root["tokenizer"].file({"file", "sha256", "tables"});
  lock.tokenizer = root["tokenizer"]["tables"].file();
  if (root.has("chat"))
    lock.chat = root["chat"].file();
  return lock;
}

} // namespace writ
