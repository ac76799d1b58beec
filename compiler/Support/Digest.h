//===- Digest.h - SHA-256 of files and of canonical JSON ------------------===//
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace writ {

/// Lower-case hexadecimal SHA-256 (64 characters).
std::string sha256(std::string_view bytes);
std::string sha256(const void *bytes, size_t size);
/// Of a file's bytes, read in pieces; throws E001 where it cannot be read.
std::string sha256File(const std::string &path);
/// Of canonicalJson(value).
std::string sha256Json(const nlohmann::json &value);

} // namespace writ
