//===- EvidenceDigests.h - of which sources a program was built -----------===//
//
// Linked into `writ`, which binds records to them, and into the programs that measure, which say
// what they were built of: where the two differ, nothing was measured of what is here.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <map>
#include <string>

namespace writ::tool {

/// Digests of sources that no catalog and no provider table knows, keyed as records write them:
/// "reference", "oracle", "inputs:KIND", "pool" and "packing".
std::map<std::string, std::string> sourceDigests();

} // namespace writ::tool
