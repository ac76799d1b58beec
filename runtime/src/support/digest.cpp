#include "support/digest.h"

#include <array>
#include <sodium/crypto_hash_sha256.h>
#include <sodium/utils.h>

namespace writ {

struct Sha256::State {
  crypto_hash_sha256_state hash;
};

Sha256::Sha256() : state(std::make_unique<State>()) {
  crypto_hash_sha256_init(&state->hash);
}
Sha256::~Sha256() = default;

void Sha256::update(std::span<const std::byte> bytes) {
  crypto_hash_sha256_update(&state->hash, reinterpret_cast<const unsigned char *>(bytes.data()),
                            bytes.size());
}

std::string Sha256::finish() {
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest;
  crypto_hash_sha256_final(&state->hash, digest.data());
  std::array<char, 2 * crypto_hash_sha256_BYTES + 1> text;
  sodium_bin2hex(text.data(), text.size(), digest.data(), digest.size());
  return text.data();
}

std::string sha256Hex(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

bool isSha256Hex(const std::string &text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

} // namespace writ
