#include "package/stamp.h"

#include "support/error.h"

#include <nlohmann/json.hpp>

namespace writ {
namespace {

using Json = nlohmann::json;
constexpr const char *kStampSchema = "writ.stamp.v2";

std::string stampText(const std::vector<StampedFile> &files) {
  Json entries = Json::array();
  for (const StampedFile &file : files)
    entries.push_back({{"file", file.locked.name},
                       {"size", file.identity.size},
                       {"modified_ns", file.identity.modifiedNanoseconds},
                       {"changed_ns", file.identity.changedNanoseconds},
                       {"sha256", file.locked.sha256}});
  return Json{{"schema", kStampSchema}, {"files", entries}}.dump() + "\n";
}

/// A stamp is compared as a whole: whatever is not exactly what this open would write is no stamp.
bool stampHolds(const std::string &path, const std::string &expected) {
  try {
    return readFile(path, 4096) == expected;
  } catch (const Failure &) {
    return false;
  }
}

} // namespace

StampResult checkStamped(const std::string &folder, const std::vector<StampedFile> &files,
                         bool verify) {
  const std::string path = folder + "/" + kStampFile, stamp = stampText(files);
  if (!verify && stampHolds(path, stamp))
    return StampResult::trusted;
  for (const StampedFile &file : files)
    if (const std::string digest = file.hash(); digest != file.locked.sha256)
      fail(WRIT_DIGEST_MISMATCH,
           "{} has SHA-256 {}, but {} names {}; it was altered, compile the model again",
           file.locked.name, digest, kLockFile, file.locked.sha256);
  return overwriteFile(path, stamp) ? StampResult::hashed : StampResult::unstamped;
}

} // namespace writ
