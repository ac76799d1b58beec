//===- lock.h - writ.lock.json, as the runtime reads it -------------------===//
//
// The lock names every part of a package by its digest. The runtime reads the fields below and
// leaves the rest (resolutions, evidence) to the compiler's tools.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "writ/kernel_abi.h"
#include "writ/package_format.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace writ {

/// A file beside the lock; `name` has no folder in it.
struct LockedFile {
  std::string name;
  std::string sha256;
};

struct Lock {
  bool production = false;
  writ_isa leastIsa = WRIT_ISA_SCALAR; ///< without which the package refuses to run
  std::string modelName, modelSha256;
  std::string circuit, circuitSha256;
  std::string profile, profileSha256;
  std::string resolutionSha256;
  std::string callSha256;    ///< of the text that the model's code was emitted from
  LockedFile weights;        ///< the digest is that of the whole file
  int64_t weightsBytes = 0;  ///< of the packed data: from weightsOffset to the file's end
  int64_t weightsOffset = 0; ///< of the packed data in the file, a multiple of 64
  LockedFile tokenizer;      ///< its tables; what they were made from is for people and tools
  LockedFile chat;           ///< an empty name: the model has no chat template
};

/// Throws Failure: WRIT_VERSION_MISMATCH with both versions where the package is of another one,
/// WRIT_BAD_PACKAGE with the field otherwise. A field that this version does not have is refused: a
/// person would believe what it says, and nobody reads it.
Lock parseLock(std::string_view text);

} // namespace writ
