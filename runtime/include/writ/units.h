//===- units.h - ids, counts and sizes that do not mix --------------------===//
//
// A number that identifies or measures something has the type of what it means. The types convert
// neither into each other nor implicitly into a number; `raw()` is the way out, and the few
// products that make sense between them are spelled out below. Arithmetic that could overflow is
// checked.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <optional>

namespace writ {

/// Identifies one of several things; no arithmetic.
template <class Tag> class Id {
public:
  constexpr Id() = default;
  constexpr explicit Id(int64_t value) : value(value) {}
  constexpr int64_t raw() const { return value; }
  constexpr auto operator<=>(const Id &) const = default;

private:
  int64_t value = -1;
};

/// Counts or measures something, in one unit; sums and differences of the same unit.
template <class Tag> class Quantity {
public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(int64_t value) : value(value) {}
  constexpr int64_t raw() const { return value; }
  constexpr auto operator<=>(const Quantity &) const = default;

  /// For values whose sum is known to be in range, such as counts below a capacity.
  constexpr Quantity operator+(Quantity other) const { return Quantity(value + other.value); }
  constexpr Quantity operator-(Quantity other) const { return Quantity(value - other.value); }
  constexpr Quantity &operator+=(Quantity other) { return *this = *this + other; }
  constexpr Quantity &operator-=(Quantity other) { return *this = *this - other; }

private:
  int64_t value = 0;
};

using TokenId = Id<struct TokenIdTag>;       ///< an entry of the vocabulary
using PageId = Id<struct PageIdTag>;         ///< a physical KV block
using SequenceId = Id<struct SequenceIdTag>; ///< a row of the block table
using LayerId = Id<struct LayerIdTag>;       ///< a layer within its KV group
using HeadId = Id<struct HeadIdTag>;         ///< a KV head
using Position = Id<struct PositionTag>;     ///< absolute, of a token in its sequence
using TokenInPage = Id<struct InPageTag>;    ///< a token's place within its page

using TokenCount = Quantity<struct TokenCountTag>;
using PageCount = Quantity<struct PageCountTag>;
using RowCount = Quantity<struct RowCountTag>;       ///< rows of a step
using OutputCount = Quantity<struct OutputCountTag>; ///< output rows of a step
using ByteCount = Quantity<struct ByteCountTag>;

/// Where something lies, in bytes from a base. Offset + count is an offset; two offsets do not add.
class ByteOffset {
public:
  constexpr ByteOffset() = default;
  constexpr explicit ByteOffset(int64_t value) : value(value) {}
  constexpr int64_t raw() const { return value; }
  constexpr auto operator<=>(const ByteOffset &) const = default;
  constexpr ByteOffset operator+(ByteCount count) const { return ByteOffset(value + count.raw()); }
  constexpr ByteCount operator-(ByteOffset other) const { return ByteCount(value - other.value); }

private:
  int64_t value = 0;
};

/// Checked arithmetic on sizes: nothing where the result does not fit or an operand is negative.
constexpr std::optional<int64_t> checkedAdd(int64_t a, int64_t b) {
  if (a < 0 || b < 0 || a > std::numeric_limits<int64_t>::max() - b)
    return std::nullopt;
  return a + b;
}
constexpr std::optional<int64_t> checkedMultiply(int64_t a, int64_t b) {
  if (a < 0 || b < 0 || (b != 0 && a > std::numeric_limits<int64_t>::max() / b))
    return std::nullopt;
  return a * b;
}
template <class... Rest>
constexpr std::optional<int64_t> checkedMultiply(int64_t a, int64_t b, Rest... rest) {
  const std::optional<int64_t> product = checkedMultiply(a, b);
  return product ? checkedMultiply(*product, rest...) : std::nullopt;
}

/// Each row of a step adds one token to its sequence.
constexpr TokenCount tokensOf(RowCount rows) {
  return TokenCount(rows.raw());
}

/// Where the token stands that follows `tokens` tokens.
constexpr Position positionAfter(TokenCount tokens) {
  return Position(tokens.raw());
}

/// Tokens up to and with the one at a position.
constexpr TokenCount tokensThrough(Position position) {
  return TokenCount(position.raw() + 1);
}

/// Pages that hold `tokens` tokens, `pageSize` a page.
constexpr PageCount pagesFor(TokenCount tokens, TokenCount pageSize) {
  return PageCount(tokens.raw() / pageSize.raw() + (tokens.raw() % pageSize.raw() != 0 ? 1 : 0));
}

} // namespace writ
