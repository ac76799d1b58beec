//===- Compare.h - tensors as a kernel leaves them, compared bit for bit --===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace writ::test {

using Bytes = std::vector<std::byte>;

/// What a buffer holds before a kernel writes it: finite, so that a NaN of the reference is not
/// taken for it.
inline constexpr std::byte kPoison{0xa5};

/// Elements of [rows, width], or where the first one differs.
struct Comparison {
  int64_t elements = 0, differences = 0;
  int64_t row = -1, column = -1;  ///< of the first difference; the column in its part of the row
  std::string part = {};          ///< of a row of codes: "codes", "scales", "sums"
  uint64_t expected = 0, got = 0; ///< its bits
};

/// Equal bits, or both NaN: a NaN equals a NaN and nothing else does. The bytes between rows of
/// activation codes are no elements. Another size is one difference.
Comparison compare(const std::string &storage, int64_t width, std::span<const std::byte> expected,
                   std::span<const std::byte> got);

} // namespace writ::test
