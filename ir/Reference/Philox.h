//===- Philox.h - counter-based random numbers ----------------------------===//
#pragma once

#include <array>
#include <cstdint>

namespace writ::reference {

/// Philox4x32: four random words from a counter and a key.
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key,
                                   int rounds);

} // namespace writ::reference
