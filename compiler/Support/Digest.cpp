//===- Digest.cpp - SHA-256 by libsodium ----------------------------------===//
#include "compiler/Support/Digest.h"

#include "compiler/Diagnostics/Diagnostic.h"
#include "compiler/Support/Json.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <sodium.h>
#include <vector>

namespace writ {

static std::string hexadecimal(const unsigned char (&hash)[crypto_hash_sha256_BYTES]) {
  char text[2 * sizeof(hash) + 1];
  sodium_bin2hex(text, sizeof(text), hash, sizeof(hash));
  return text;
}

struct Sha256Stream::State {
  crypto_hash_sha256_state hash;
};

Sha256Stream::Sha256Stream() : state(std::make_unique<State>()) {
  crypto_hash_sha256_init(&state->hash);
}
Sha256Stream::~Sha256Stream() = default;
Sha256Stream::Sha256Stream(Sha256Stream &&) noexcept = default;

void Sha256Stream::update(std::string_view bytes) {
  crypto_hash_sha256_update(&state->hash, reinterpret_cast<const unsigned char *>(bytes.data()),
                            bytes.size());
}

std::string Sha256Stream::finish() {
  unsigned char hash[crypto_hash_sha256_BYTES];
  crypto_hash_sha256_final(&state->hash, hash);
  return hexadecimal(hash);
}

std::string sha256(const void *bytes, size_t size) {
  unsigned char hash[crypto_hash_sha256_BYTES];
  crypto_hash_sha256(hash, static_cast<const unsigned char *>(bytes), size);
  return hexadecimal(hash);
}

std::string sha256(std::string_view bytes) {
  return sha256(bytes.data(), bytes.size());
}

std::string sha256File(const std::string &path, const std::function<void(uint64_t)> &progress) {
  std::unique_ptr<FILE, int (*)(FILE *)> file(std::fopen(path.c_str(), "rbe"), std::fclose);
  auto fail = [&] {
    throw Error(Location{path}, "E001",
                std::string("cannot read the file: ") + std::strerror(errno));
  };
  if (!file)
    fail();
  Sha256Stream stream;
  std::vector<char> buffer(1 << 20);
  uint64_t bytes = 0;
  while (size_t count = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
    stream.update({buffer.data(), count});
    bytes += count;
    if (progress)
      progress(bytes);
  }
  if (std::ferror(file.get()))
    fail();
  return stream.finish();
}

bool isSha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string shortSha256(std::string_view digest) {
  return std::string(digest.substr(0, 12));
}

std::string sha256Json(const nlohmann::json &value) {
  return sha256(canonicalJson(value));
}

std::string sha256Document(const Json &document) {
  return sha256(canonicalDocument(document));
}

} // namespace writ
