//===- Tokens.h - tokens of no meaning ------------------------------------===//
#pragma once

#include <cstdint>
#include <vector>

namespace writ::tool {

/// Ids below `vocabulary`, the same in every run and on every machine: one for each position, the
/// first `bos` where that is a token.
std::vector<int32_t> someTokens(int64_t vocabulary, int32_t bos, int64_t count);

} // namespace writ::tool
