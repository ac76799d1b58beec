//===- units_test.cpp - ids, counts and sizes do not mix -------------------===//

#include "kv/kv_layout.h"
#include "scheduler/row_tables.h"
#include "scheduler/sequence_table.h"
#include "writ/units.h"

#include <gtest/gtest.h>
#include <tuple>
#include <type_traits>

using namespace writ;

namespace {

template <class A, class B>
concept Adds = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Compares = requires(A a, B b) {
  a < b;
};
template <class A, class B>
concept Equates = requires(A a, B b) {
  a == b;
};
template <class A, class B>
concept Assigns = requires(A a, B b) {
  a = b;
};

using Types = std::tuple<TokenId, PageId, SequenceId, LayerId, HeadId, Position, TokenInPage,
                         TokenCount, PageCount, RowCount, OutputCount, ByteCount, ByteOffset>;

template <class A, class B> constexpr bool stayApart() {
  if constexpr (std::is_same_v<A, B>)
    return true;
  else
    return !std::is_convertible_v<A, B> && !std::is_constructible_v<B, A> && !Assigns<B, A> &&
           !Compares<A, B> && !Equates<A, B> &&
           (!Adds<A, B> || (std::is_same_v<A, ByteOffset> && std::is_same_v<B, ByteCount>));
}
template <class A, class... B> constexpr bool staysApartFrom(std::tuple<B...>) {
  return (stayApart<A, B>() && ...);
}
template <class... A> constexpr bool allStayApart(std::tuple<A...> types) {
  return (staysApartFrom<A>(types) && ...);
}

template <class... A> constexpr bool noneIsANumber(std::tuple<A...>) {
  return ((!std::is_convertible_v<A, int64_t> && !std::is_convertible_v<int64_t, A> &&
           !Adds<A, int64_t> && !Compares<A, int64_t>)&&...);
}

static_assert(allStayApart(Types()));
static_assert(noneIsANumber(Types()));
static_assert(!Adds<PageId, PageId>, "ids have no arithmetic");
static_assert(!Adds<ByteOffset, ByteOffset>, "two offsets do not add");
// The checks above can tell: what should compile does.
static_assert(Adds<TokenCount, TokenCount> && Compares<PageId, PageId> &&
              Adds<ByteOffset, ByteCount>);

// Where the runtime takes them, one does not pass for another, nor a number for any.
template <class... Indices>
concept HasAddress = requires(const KvLayout &layout, Indices... indices) {
  layout.offset(KvPlane::key, indices...);
};
static_assert(HasAddress<LayerId, PageId, TokenInPage, HeadId>);
static_assert(!HasAddress<PageId, LayerId, TokenInPage, HeadId>);
static_assert(!HasAddress<LayerId, PageId, HeadId, TokenInPage>);
static_assert(!HasAddress<LayerId, PageId, Position, HeadId>);
static_assert(!HasAddress<LayerId, PageId, int64_t, HeadId>);

template <class... Entry>
concept IsToken = requires(SequenceTable &table, Entry... entry) {
  table.setToken(entry...);
};
static_assert(IsToken<SequenceId, Position, TokenId>);
static_assert(!IsToken<SequenceId, TokenId, Position>);
static_assert(!IsToken<SequenceId, TokenCount, TokenId>);
static_assert(!IsToken<SequenceId, int64_t, TokenId> && !IsToken<SequenceId, Position, int32_t>);

template <class... Row>
concept IsRow = requires(RowTables &tables, Row... row) {
  tables.setRow(row...);
};
static_assert(IsRow<RowCount, TokenId, Position, SequenceId>);
static_assert(!IsRow<RowCount, Position, TokenId, SequenceId>);
static_assert(!IsRow<OutputCount, TokenId, Position, SequenceId>);
static_assert(!IsRow<int64_t, TokenId, Position, SequenceId>);

TEST(Units, N1_CheckedArithmeticAtZeroExactAndMaximum) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(checkedMultiply(0, most), 0);
  EXPECT_EQ(checkedMultiply(most, 0), 0);
  EXPECT_EQ(checkedMultiply(most, 1), most);
  EXPECT_EQ(checkedMultiply(most / 2, 2), most - 1);
  EXPECT_FALSE(checkedMultiply(most / 2 + 1, 2));
  EXPECT_FALSE(checkedMultiply(most, most));
  EXPECT_FALSE(checkedMultiply(-1, 1));
  EXPECT_FALSE(checkedMultiply(int64_t(1) << 31, int64_t(1) << 31, int64_t(2)));
  EXPECT_EQ(checkedMultiply(2, 3, 4, 5), 120);
  EXPECT_EQ(checkedAdd(most, 0), most);
  EXPECT_FALSE(checkedAdd(most, 1));
  EXPECT_FALSE(checkedAdd(0, -1));
}

TEST(Units, F10_PagesForTokensAtExactBoundaries) {
  const TokenCount page(32);
  EXPECT_EQ(pagesFor(TokenCount(0), page), PageCount(0));
  EXPECT_EQ(pagesFor(TokenCount(1), page), PageCount(1));
  EXPECT_EQ(pagesFor(TokenCount(32), page), PageCount(1));
  EXPECT_EQ(pagesFor(TokenCount(33), page), PageCount(2));
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(pagesFor(TokenCount(most), TokenCount(1)), PageCount(most));
}

} // namespace
