#include "package/weights.h"

#include "support/digest.h"
#include "support/error.h"
#include "writ/units.h"

#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>

namespace writ {
namespace {

using Json = nlohmann::json;
constexpr const char *kStampSchema = "writ.stamp.v1";

std::string stampText(const FileIdentity &identity, const std::string &sha256) {
  return Json{{"schema", kStampSchema},
              {"size", identity.size},
              {"modified_ns", identity.modifiedNanoseconds},
              {"changed_ns", identity.changedNanoseconds},
              {"sha256", sha256}}
             .dump() +
         "\n";
}

/// A stamp is compared as a whole: whatever is not exactly what this open would write is no stamp.
bool stampHolds(const std::string &path, const std::string &expected) {
  try {
    return readFile(path, 4096) == expected;
  } catch (const Failure &) {
    return false;
  }
}

void log(const writ_open_options &options, int32_t level, const std::string &message) {
  if (options.log)
    options.log(options.log_user, level, message.c_str());
}

std::string hashWithProgress(const MappedFile &file, const std::string &name,
                             const writ_open_options &options) {
  using Clock = std::chrono::steady_clock;
  const size_t total = file.bytes().size();
  Clock::time_point last = Clock::now();
  return sha256Hex(file.bytes(), [&](size_t done) {
    const Clock::time_point now = Clock::now();
    if (now - last < std::chrono::seconds(1))
      return;
    last = now;
    log(options, WRIT_LOG_PROGRESS, fmt::format("{}: checked {}%", name, done * 100 / total));
  });
}

} // namespace

Weights::Weights(const std::string &folder, const Lock &lock, const writ_open_options &options)
    : file(folder + "/" + lock.weights.name), offset(lock.weightsOffset) {
  const auto expected = checkedAdd(lock.weightsOffset, lock.weightsBytes);
  if (!expected || file.identity().size != *expected)
    fail(WRIT_BAD_PACKAGE,
         "{} has {} bytes, but {} says data_offset {} and bytes {}; the file is not the one that "
         "was "
         "compiled",
         lock.weights.name, file.identity().size, kLockFile, lock.weightsOffset, lock.weightsBytes);
  // A safetensors file begins with the length of its header; the data follow the header.
  uint64_t header = 0;
  if (file.bytes().size() < sizeof header)
    fail(WRIT_BAD_PACKAGE, "{} has {} bytes, too few for a safetensors file", lock.weights.name,
         file.bytes().size());
  std::memcpy(&header, file.bytes().data(), sizeof header);
  if (header != uint64_t(lock.weightsOffset) - sizeof header)
    fail(WRIT_BAD_PACKAGE, "{}: the header has {} bytes, but {} says data_offset {}",
         lock.weights.name, header, kLockFile, lock.weightsOffset);
  check(folder, lock, options);
}

void Weights::check(const std::string &folder, const Lock &lock, const writ_open_options &options) {
  const std::string stampPath = folder + "/" + kStampFile;
  const std::string stamp = stampText(file.identity(), lock.weights.sha256);
  if (!options.verify && stampHolds(stampPath, stamp)) {
    log(options, WRIT_LOG_DEBUG, lock.weights.name + ": checked by an earlier open");
    return;
  }
  const std::string digest = hashWithProgress(file, lock.weights.name, options);
  hashed = true;
  if (digest != lock.weights.sha256)
    fail(WRIT_DIGEST_MISMATCH,
         "{} has SHA-256 {}, but {} names {}; the weights were altered, compile the model again",
         lock.weights.name, digest, kLockFile, lock.weights.sha256);
  if (!replaceFile(stampPath, stamp))
    log(options, WRIT_LOG_INFO,
        fmt::format("cannot write {}; {} will be hashed at each open", stampPath,
                    lock.weights.name));
}

} // namespace writ
