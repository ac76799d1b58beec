//===- page_allocator.h - who owns which physical KV block ----------------===//
#pragma once

#include "support/memory.h"
#include "writ/units.h"

#include <optional>

namespace writ {

/// Hands out the pages of one KV group. A page has one owner or none; sharing between sequences
/// will turn the owner into a count, and nothing outside this class will see it.
class PageAllocator {
public:
  PageAllocator() = default;
  /// Pages are handed out in ascending order; in a shuffled one where `orderSeed` is not 0.
  PageAllocator(PageCount pages, uint64_t orderSeed);

  PageCount total() const { return PageCount(owners.size()); }
  PageCount available() const { return PageCount(freeCount); }

  /// Nothing where no page is free.
  std::optional<PageId> allocate(SequenceId owner);
  /// False, and nothing happens, where `owner` does not own the page.
  bool release(PageId page, SequenceId owner);
  /// Nothing where the page is free.
  std::optional<SequenceId> owner(PageId page) const;

  static ByteCount bytesFor(PageCount pages);
  ByteCount bytes() const { return owners.bytes() + freePages.bytes(); }

private:
  FixedArray<int32_t> owners;    ///< [pages]; -1: free
  FixedArray<int32_t> freePages; ///< a stack; the next page is freePages[freeCount - 1]
  int64_t freeCount = 0;
};

} // namespace writ
