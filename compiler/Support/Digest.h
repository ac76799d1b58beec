//===- Digest.h - SHA-256 of files and of canonical JSON ------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace writ {

class Json;

/// Lower-case hexadecimal SHA-256 (64 characters).
std::string sha256(std::string_view bytes);
std::string sha256(const void *bytes, size_t size);
/// Of a file's bytes, read in pieces; throws E001 where it cannot be read. `progress`, where there
/// is one, is told after each piece how many bytes were read.
std::string sha256File(const std::string &path,
                       const std::function<void(uint64_t)> &progress = nullptr);
/// Of canonicalJson(value).
std::string sha256Json(const nlohmann::json &value);
/// Of canonicalDocument(document); E017 stands at the value.
std::string sha256Document(const Json &document);

bool isSha256(std::string_view text);
/// A digest for people: its first 12 digits.
std::string shortSha256(std::string_view digest);

/// SHA-256 of bytes that come in pieces.
class Sha256Stream {
public:
  Sha256Stream();
  ~Sha256Stream();
  Sha256Stream(Sha256Stream &&) noexcept;

  void update(std::string_view bytes);
  /// The digest; the stream is used up.
  std::string finish();

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace writ
