//===- kv_test.cpp - paged KV against a model anyone can read --------------===//

#include "kv/kv_cache.h"

#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

using namespace writ;

namespace {

//===-- the address formula --------------------------------------------------===//

TEST(KvLayout, F9_AddressFormulaIsABijection) {
  for (const int64_t pageSize : {1, 3, 4}) {
    const KvShape shape{3, 2, ByteCount(10), TokenCount(pageSize), PageCount(5)};
    const KvLayout layout = *KvLayout::make(shape);
    std::set<int64_t> starts;
    for (const KvPlane plane : {KvPlane::key, KvPlane::value})
      for (int64_t layer = 0; layer < 3; ++layer)
        for (int64_t page = 0; page < 5; ++page)
          for (int64_t token = 0; token < pageSize; ++token)
            for (int64_t head = 0; head < 2; ++head) {
              const auto offset = layout.offset(plane, LayerId(layer), PageId(page),
                                                TokenInPage(token), HeadId(head));
              ASSERT_TRUE(offset);
              // DESIGN.md, "Runtime", word for word.
              const int64_t tokenStride = 2 * 10, pageStride = pageSize * tokenStride,
                            layerStride = 5 * pageStride, planeStride = 3 * layerStride;
              EXPECT_EQ(offset->raw(), (plane == KvPlane::value ? planeStride : 0) +
                                           layer * layerStride + page * pageStride +
                                           token * tokenStride + head * 10);
              EXPECT_TRUE(starts.insert(offset->raw()).second) << "two places at one address";
            }
    // As many places as the allocation has rows of 10 bytes, none beyond it: onto as well as one to
    // one.
    EXPECT_EQ(int64_t(starts.size()) * 10, layout.totalBytes().raw());
    EXPECT_EQ(*starts.begin(), 0);
    EXPECT_EQ(*starts.rbegin(), layout.totalBytes().raw() - 10);
    for (const int64_t start : starts)
      EXPECT_EQ(start % 10, 0);
  }
}

TEST(KvLayout, F9_IndicesOutOfRangeHaveNoAddress) {
  const KvLayout layout = *KvLayout::make({3, 2, ByteCount(10), TokenCount(4), PageCount(5)});
  const auto at = [&](int64_t layer, int64_t page, int64_t token, int64_t head) {
    return layout.offset(KvPlane::key, LayerId(layer), PageId(page), TokenInPage(token),
                         HeadId(head));
  };
  EXPECT_TRUE(at(2, 4, 3, 1));
  EXPECT_FALSE(at(3, 4, 3, 1));
  EXPECT_FALSE(at(2, 5, 3, 1));
  EXPECT_FALSE(at(2, 4, 4, 1));
  EXPECT_FALSE(at(2, 4, 3, 2));
  EXPECT_FALSE(at(-1, 0, 0, 0));
  EXPECT_FALSE(at(0, -1, 0, 0));
  EXPECT_FALSE(at(0, 0, -1, 0));
  EXPECT_FALSE(at(0, 0, 0, -1));
}

TEST(KvLayout, F9_OverflowIsRefused) {
  const int64_t big = int64_t(1) << 31;
  const KvShape fits{1, 1, ByteCount(1), TokenCount(1), PageCount(1)};
  EXPECT_TRUE(KvLayout::make(fits));
  for (int zero = 0; zero < 5; ++zero)
    for (const int64_t bad : {int64_t(0), int64_t(-1)}) {
      KvShape shape = fits;
      (zero == 0 ? shape.layers : shape.kvHeads) = zero < 2 ? bad : 1;
      if (zero == 2)
        shape.rowBytes = ByteCount(bad);
      if (zero == 3)
        shape.pageSize = TokenCount(bad);
      if (zero == 4)
        shape.pages = PageCount(bad);
      EXPECT_FALSE(KvLayout::make(shape)) << zero;
    }
  EXPECT_FALSE(KvLayout::make({1, 1, ByteCount(1), TokenCount(1), PageCount(big)}))
      << "a page id is an int32 of the block table";
  EXPECT_TRUE(KvLayout::make({1, 1, ByteCount(1), TokenCount(1), PageCount(big - 1)}));
  EXPECT_FALSE(KvLayout::make({big, big, ByteCount(2), TokenCount(1), PageCount(1)}));
  EXPECT_FALSE(KvLayout::make({big, 1, ByteCount(big), TokenCount(2), PageCount(1)}));
  EXPECT_FALSE(KvLayout::make({1, big, ByteCount(1), TokenCount(big), PageCount(2)}));
  // One plane fits 63 bits, two do not.
  EXPECT_FALSE(KvLayout::make({big, big / 2, ByteCount(2), TokenCount(1), PageCount(1)}));
  EXPECT_TRUE(KvLayout::make({big, big / 4, ByteCount(2), TokenCount(1), PageCount(1)}));
}

//===-- pages ------------------------------------------------------------------===//

TEST(PageAllocator, F10_NoPageHasTwoOwnersAndNoneIsLost) {
  for (const uint64_t seed : {0, 1, 99}) {
    PageAllocator pages(PageCount(7), seed);
    std::set<int64_t> given;
    for (int64_t i = 0; i < 7; ++i) {
      const auto page = pages.allocate(SequenceId(i % 3));
      ASSERT_TRUE(page);
      EXPECT_TRUE(given.insert(page->raw()).second);
      EXPECT_EQ(pages.owner(*page), SequenceId(i % 3));
    }
    EXPECT_EQ(given.size(), 7u);
    EXPECT_FALSE(pages.allocate(SequenceId(0))) << "exactly all";
    EXPECT_EQ(pages.available(), PageCount(0));
  }
}

TEST(PageAllocator, N2_APageIsReleasedOnceAndByItsOwner) {
  PageAllocator pages(PageCount(2), 0);
  const PageId page = *pages.allocate(SequenceId(1));
  EXPECT_FALSE(pages.release(page, SequenceId(0)));
  EXPECT_FALSE(pages.release(PageId(-1), SequenceId(1)));
  EXPECT_FALSE(pages.release(PageId(2), SequenceId(1)));
  EXPECT_FALSE(pages.release(page, SequenceId(-1)));
  EXPECT_TRUE(pages.release(page, SequenceId(1)));
  EXPECT_FALSE(pages.release(page, SequenceId(1))) << "twice";
  EXPECT_EQ(pages.available(), PageCount(2));
  EXPECT_FALSE(pages.owner(page));
}

TEST(PageAllocator, S7_ASeedShufflesAndItsAbsenceDoesNot) {
  const auto order = [](uint64_t seed) {
    PageAllocator pages(PageCount(50), seed);
    std::vector<int64_t> ids;
    while (const auto page = pages.allocate(SequenceId(0)))
      ids.push_back(page->raw());
    return ids;
  };
  std::vector<int64_t> ascending(50);
  for (int64_t i = 0; i < 50; ++i)
    ascending[size_t(i)] = i;
  EXPECT_EQ(order(0), ascending);
  EXPECT_NE(order(1), ascending);
  EXPECT_NE(order(1), order(2));
  EXPECT_EQ(order(1), order(1));
}

//===-- sequences -----------------------------------------------------------===//

constexpr writ_kv_group kGroups[2] = {{"f16", 2, 2, 4, 8, 0}, {"f16", 1, 1, 4, 8, 0}};

KvOptions options(int64_t pageSize, int64_t pages, int64_t perSequence, int64_t sequences) {
  KvOptions out;
  out.pageSize = TokenCount(pageSize);
  out.pages = PageCount(pages);
  out.pagesPerSequence = PageCount(perSequence);
  out.sequences = sequences;
  return out;
}

TEST(KvCache, F10_GrowTakesAllPagesOrNone) {
  KvCache cache(kGroups, options(4, 5, 4, 3));
  EXPECT_TRUE(cache.grow(SequenceId(0), TokenCount(12))); // 3 pages
  EXPECT_EQ(cache.available(), PageCount(2));
  EXPECT_FALSE(cache.grow(SequenceId(1), TokenCount(9))) << "3 pages, 2 free";
  EXPECT_EQ(cache.available(), PageCount(2));
  EXPECT_EQ(cache.held(SequenceId(1)), PageCount(0));
  EXPECT_FALSE(cache.page(0, SequenceId(1), 0));
  EXPECT_TRUE(cache.grow(SequenceId(1), TokenCount(8))) << "exactly the 2 that are free";
  EXPECT_EQ(cache.available(), PageCount(0));
  EXPECT_TRUE(cache.grow(SequenceId(1), TokenCount(8))) << "nothing more is needed";
  EXPECT_FALSE(cache.grow(SequenceId(1), TokenCount(9)));
  cache.shrink(SequenceId(0), TokenCount(9));
  EXPECT_EQ(cache.available(), PageCount(0)) << "token 9 is on the third page";
  cache.shrink(SequenceId(0), TokenCount(8));
  EXPECT_EQ(cache.available(), PageCount(1));
  cache.shrink(SequenceId(0), TokenCount(0));
  EXPECT_EQ(cache.available(), PageCount(3));
  EXPECT_FALSE(cache.grow(SequenceId(0), TokenCount(17))) << "longer than its row of the table";
}

TEST(KvCache, F9_ViewsCarryTheLayoutOfTheAllocator) {
  KvCache cache(kGroups, options(4, 5, 4, 3));
  for (size_t group = 0; group < 2; ++group) {
    const writ_kv_view &view = cache.views()[group];
    const KvLayout &layout = cache.layout(group);
    EXPECT_EQ(static_cast<char *>(view.v_plane) - static_cast<char *>(view.k_plane),
              layout.planeStride().raw());
    EXPECT_EQ(view.layer_stride, layout.layerStride().raw());
    EXPECT_EQ(view.page_stride, layout.pageStride().raw());
    EXPECT_EQ(view.token_stride, layout.tokenStride().raw());
    EXPECT_EQ(view.block_size, 4);
    EXPECT_EQ(view.physical_blocks, 5);
    EXPECT_EQ(view.table_stride, 4);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(view.k_plane) % 64, 0u);
  }
  EXPECT_EQ(cache.layout(0).bytesPerToken(), ByteCount(2 * 2 * 2 * 8));
  EXPECT_EQ(cache.allocated().bytesPerToken, ByteCount(64 + 16));
}

TEST(KvCache, N10_PlanEqualsAllocation) {
  for (const int64_t pageSize : {1, 7, 32}) {
    const KvOptions wanted = options(pageSize, 9, 4, 5);
    const KvSizes plan = KvCache::plan(kGroups, wanted), got = KvCache(kGroups, wanted).allocated();
    EXPECT_EQ(plan.planes, got.planes);
    EXPECT_EQ(plan.tables, got.tables);
    EXPECT_EQ(plan.bytesPerToken, got.bytesPerToken);
    EXPECT_EQ(plan.planes.raw(), plan.bytesPerToken.raw() * pageSize * 9);
  }
}

TEST(KvCache, F9_SizesThatDoNotFitAreRefusedByName) {
  writ_kv_group huge = kGroups[0];
  huge.row_bytes = int64_t(1) << 60;
  try {
    KvCache::plan({&huge, 1}, options(4, 5, 4, 3));
    FAIL() << "accepted";
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.status(), WRIT_INVALID_ARGUMENT);
    EXPECT_NE(std::string(failure.what()).find("1152921504606846976 bytes a head"),
              std::string::npos)
        << failure.what();
  }
}

/// Random operations against a map from sequence to list of pages, for both groups.
TEST(KvCache, F10_RandomOperationsAgreeWithASimpleModel) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const int64_t pageSize = 1 + random() % 5, pages = 4 + random() % 12, perSequence = 6,
                  sequences = 4;
    KvOptions wanted = options(pageSize, pages, perSequence, sequences);
    wanted.orderSeed = seed % 3;
    KvCache cache(kGroups, wanted);
    std::map<int64_t, int64_t> lengths;
    for (int operation = 0; operation < 400; ++operation) {
      const SequenceId sequence(random() % sequences);
      const int64_t length = int64_t(random() % (pageSize * perSequence + 2));
      int64_t used = 0;
      for (const auto &[other, tokens] : lengths)
        used += (tokens + pageSize - 1) / pageSize;
      const int64_t held = (lengths[sequence.raw()] + pageSize - 1) / pageSize;
      const int64_t wantedPages = (length + pageSize - 1) / pageSize;
      std::vector<PageId> before;
      for (int64_t block = 0; block < held; ++block)
        before.push_back(*cache.page(0, sequence, block));
      if (length > lengths[sequence.raw()]) {
        const bool fits = wantedPages <= perSequence && used - held + wantedPages <= pages;
        ASSERT_EQ(cache.grow(sequence, TokenCount(length)), fits);
        if (fits)
          lengths[sequence.raw()] = length;
      } else {
        cache.shrink(sequence, TokenCount(length));
        lengths[sequence.raw()] = length;
      }
      const int64_t kept =
          std::min<int64_t>(held, (lengths[sequence.raw()] + pageSize - 1) / pageSize);
      for (int64_t block = 0; block < kept; ++block)
        ASSERT_EQ(cache.page(0, sequence, block), before[size_t(block)]) << "a held page moved";
      // Every page of every group has the owner whose table names it, once; the rest is free.
      for (size_t group = 0; group < 2; ++group) {
        std::set<int64_t> owned;
        for (const auto &[other, tokens] : lengths)
          for (int64_t block = 0; block < perSequence; ++block) {
            const auto page = cache.page(group, SequenceId(other), block);
            ASSERT_EQ(page.has_value(), block < (tokens + pageSize - 1) / pageSize);
            if (page) {
              ASSERT_TRUE(owned.insert(page->raw()).second) << "a page with two owners";
              ASSERT_EQ(cache.pages(group).owner(*page), SequenceId(other));
            }
          }
        ASSERT_EQ(cache.pages(group).available().raw(), pages - int64_t(owned.size()));
      }
    }
  }
}

TEST(KvCache, F1_PoisonFillsFreshAndRecycledPagesInEveryLayer) {
  KvOptions wanted = options(4, 3, 3, 2);
  wanted.poison = true;
  KvCache cache(kGroups, wanted);
  const auto poisoned = [&](PageId page) {
    int64_t bytes = 0;
    for (size_t group = 0; group < 2; ++group)
      for (const KvPlane plane : {KvPlane::key, KvPlane::value})
        for (int64_t layer = 0; layer < kGroups[group].layers; ++layer) {
          const auto *start = static_cast<const unsigned char *>(cache.views()[group].k_plane) +
                              cache.layout(group)
                                  .offset(plane, LayerId(layer), page, TokenInPage(0), HeadId(0))
                                  ->raw();
          for (int64_t i = 0; i < cache.layout(group).pageStride().raw(); ++i)
            bytes += start[i] == 0xff;
        }
    return bytes;
  };
  const int64_t all = 4 * cache.allocated().bytesPerToken.raw();
  ASSERT_TRUE(cache.grow(SequenceId(0), TokenCount(8)));
  const PageId first = *cache.page(0, SequenceId(0), 0), second = *cache.page(0, SequenceId(0), 1);
  EXPECT_EQ(poisoned(first), all);
  for (size_t group = 0; group < 2; ++group)
    std::memset(cache.views()[group].k_plane, 0, size_t(cache.layout(group).totalBytes().raw()));
  cache.shrink(SequenceId(0), TokenCount(4));
  EXPECT_EQ(poisoned(first), 0) << "still held";
  EXPECT_EQ(poisoned(second), all);
}

} // namespace
