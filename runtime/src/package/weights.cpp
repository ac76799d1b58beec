#include "package/weights.h"

#include "support/digest.h"
#include "support/error.h"
#include "writ/units.h"

#include <algorithm>
#include <chrono>
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
  constexpr int64_t kPiece = int64_t(1) << 20;
  const int64_t total = file.identity().size;
  std::vector<std::byte> piece(size_t(std::min(kPiece, total)));
  Sha256 hash;
  Clock::time_point last = Clock::now();
  for (int64_t done = 0; done < total;) {
    const std::span<std::byte> part(piece.data(), size_t(std::min(kPiece, total - done)));
    file.read(done, part);
    hash.update(part);
    done += int64_t(part.size());
    if (const Clock::time_point now = Clock::now(); now - last >= std::chrono::seconds(1)) {
      last = now;
      log(options, WRIT_LOG_PROGRESS, fmt::format("{}: checked {}%", name, done * 100 / total));
    }
  }
  return hash.finish();
}

} // namespace

Weights::Weights(const std::string &folder, const Lock &lock, const writ_open_options &options)
    : name(lock.weights.name), file(folder + "/" + name), offset(lock.weightsOffset) {
  const auto expected = checkedAdd(lock.weightsOffset, lock.weightsBytes);
  if (!expected || file.identity().size != *expected)
    fail(WRIT_BAD_PACKAGE,
         "{} has {} bytes, but {} says data_offset {} and bytes {}; the file is not the one that "
         "was "
         "compiled",
         lock.weights.name, file.identity().size, kLockFile, lock.weightsOffset, lock.weightsBytes);
  // A safetensors file begins with the length of its header; the data follow the header.
  uint64_t header = 0;
  if (file.identity().size < int64_t(sizeof header))
    fail(WRIT_BAD_PACKAGE, "{} has {} bytes, too few for a safetensors file", name,
         file.identity().size);
  file.read(0, std::as_writable_bytes(std::span(&header, 1)));
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
  if (!overwriteFile(stampPath, stamp))
    log(options, WRIT_LOG_INFO,
        fmt::format("cannot write {}; {} will be hashed at each open", stampPath,
                    lock.weights.name));
}

writ_status Weights::unchanged(writ_error *error) const {
  const std::optional<FileIdentity> now = file.now();
  if (!now)
    return report(error, WRIT_IO_ERROR, "{}: the system does not say whether it is unchanged",
                  name);
  if (now->size != file.identity().size)
    return report(error, WRIT_IO_ERROR,
                  "{} has {} bytes, but had {} when it was opened; a package must not change while "
                  "it is open",
                  name, now->size, file.identity().size);
  if (now->modifiedNanoseconds != file.identity().modifiedNanoseconds)
    return report(error, WRIT_IO_ERROR,
                  "{} was written to since it was opened; a package must not change while it is "
                  "open",
                  name);
  return WRIT_OK;
}

} // namespace writ
