#include "support/digest.h"

#include <algorithm>
#include <array>
#include <sodium/crypto_hash_sha256.h>
#include <sodium/utils.h>

namespace writ {

std::string sha256Hex(std::span<const std::byte> bytes,
                      const std::function<void(size_t done)> &progress) {
  constexpr size_t chunk = 8 << 20;
  crypto_hash_sha256_state state;
  crypto_hash_sha256_init(&state);
  for (size_t done = 0; done < bytes.size();) {
    const size_t now = std::min(chunk, bytes.size() - done);
    crypto_hash_sha256_update(&state, reinterpret_cast<const unsigned char *>(bytes.data()) + done,
                              now);
    done += now;
    if (progress)
      progress(done);
  }
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest;
  crypto_hash_sha256_final(&state, digest.data());
  std::array<char, 2 * crypto_hash_sha256_BYTES + 1> text;
  sodium_bin2hex(text.data(), text.size(), digest.data(), digest.size());
  return text.data();
}

bool isSha256Hex(const std::string &text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

} // namespace writ
