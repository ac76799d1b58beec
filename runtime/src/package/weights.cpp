#include "package/weights.h"

#include "support/digest.h"
#include "support/error.h"
#include "writ/units.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace writ {
Weights::Weights(const std::string &folder, const Lock &lock)
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
}

std::string Weights::hash(const writ_open_options &options) const {
  using Clock = std::chrono::steady_clock;
  constexpr int64_t kPiece = int64_t(1) << 20;
  const int64_t total = file.identity().size;
  std::vector<std::byte> piece(size_t(std::min(kPiece, total)));
  Sha256 sha256;
  Clock::time_point last = Clock::now();
  for (int64_t done = 0; done < total;) {
    const std::span<std::byte> part(piece.data(), size_t(std::min(kPiece, total - done)));
    file.read(done, part);
    sha256.update(part);
    done += int64_t(part.size());
    if (const Clock::time_point now = Clock::now(); now - last >= std::chrono::seconds(1)) {
      last = now;
      if (options.log)
        options.log(options.log_user, WRIT_LOG_PROGRESS,
                    fmt::format("{}: checked {}%", name, done * 100 / total).c_str());
    }
  }
  return sha256.finish();
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
