//===- package_format.h - the names and the version of a package ----------===//
//
// What the compiler writes and the runtime reads; docs/package.md says what each part holds. Paths
// are relative to the package's folder.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace writ {

inline constexpr const char *kLockFile = "writ.lock.json";
inline constexpr const char *kLockSchema = "writ.lock.v1";
/// Of the lock and of everything that it names. Another number is another format.
inline constexpr int32_t kPackageVersion = 5;

inline constexpr const char *kWeightsFile = "weights.safetensors";
/// The vocabulary, to be read by people and tools, and the tables of it that the runtime reads.
inline constexpr const char *kTokenizerFile = "tokenizer.json";
inline constexpr const char *kTokenizerTables = "tokenizer.bin";
inline constexpr const char *kChatFile = "chat.json";
inline constexpr const char *kReportFile = "report.json";
/// The text that the sources were emitted from; the model's code carries its digest.
inline constexpr const char *kCallFile = "ir/call.mlir";

/// Made by the host compiler. Beside it lies its digest, as sha256sum writes it, in a file whose
/// name is longer by the suffix.
inline constexpr const char *kLibraryFile = "lib/libmodel.so";
inline constexpr const char *kDigestSuffix = ".sha256";

/// Made by the first open.
inline constexpr const char *kStampFile = ".writ-stamp";

} // namespace writ
