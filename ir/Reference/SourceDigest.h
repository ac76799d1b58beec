//===- SourceDigest.h - which reference this program was built with -------===//
#pragma once

#include <string>

namespace writ::reference {

/// SHA-256 of this folder's sources, as scripts/generate/source_digest.py takes it; evidence
/// records are bound to it.
std::string sourceSha256();

} // namespace writ::reference
