//===- digest.h - SHA-256 of bytes ----------------------------------------===//
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace writ {

/// SHA-256 of bytes that come in pieces.
class Sha256 {
public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256 &) = delete;
  Sha256 &operator=(const Sha256 &) = delete;
  void update(std::span<const std::byte> bytes);
  /// Lower-case hexadecimal; the object is used up.
  std::string finish();

private:
  struct State;
  std::unique_ptr<State> state;
};

/// SHA-256, lower-case hexadecimal.
std::string sha256Hex(std::span<const std::byte> bytes);
/// 64 lower-case hexadecimal digits.
bool isSha256Hex(const std::string &text);

} // namespace writ
