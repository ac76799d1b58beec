//===- digest.h - SHA-256 of bytes ----------------------------------------===//
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace writ {

/// SHA-256, lower-case hexadecimal. `progress` (may be empty) is told the bytes done now and then.
std::string sha256Hex(std::span<const std::byte> bytes,
                      const std::function<void(size_t done)> &progress = {});
/// 64 lower-case hexadecimal digits.
bool isSha256Hex(const std::string &text);

} // namespace writ
