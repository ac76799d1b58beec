#include "kv/page_allocator.h"

namespace writ {
namespace {

/// SplitMix64 (Steele, Lea, Flood 2014): enough to shuffle, and the same everywhere.
uint64_t nextRandom(uint64_t &state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

} // namespace

PageAllocator::PageAllocator(PageCount pages, uint64_t orderSeed)
    : owners(pages.raw(), -1), freePages(pages.raw()), freeCount(pages.raw()) {
  for (int64_t i = 0; i < freeCount; ++i)
    freePages[i] = int32_t(freeCount - 1 - i);
  if (orderSeed != 0)
    for (int64_t i = freeCount - 1; i > 0; --i)
      std::swap(freePages[i], freePages[int64_t(nextRandom(orderSeed) % uint64_t(i + 1))]);
}

std::optional<PageId> PageAllocator::allocate(SequenceId owner) {
  if (freeCount == 0)
    return std::nullopt;
  const int32_t page = freePages[--freeCount];
  owners[page] = int32_t(owner.raw());
  return PageId(page);
}

bool PageAllocator::release(PageId page, SequenceId owner) {
  if (page.raw() < 0 || page.raw() >= owners.size() || owner.raw() < 0 ||
      owners[page.raw()] != owner.raw())
    return false;
  owners[page.raw()] = -1;
  freePages[freeCount++] = int32_t(page.raw());
  return true;
}

std::optional<SequenceId> PageAllocator::owner(PageId page) const {
  if (page.raw() < 0 || page.raw() >= owners.size() || owners[page.raw()] < 0)
    return std::nullopt;
  return SequenceId(owners[page.raw()]);
}

ByteCount PageAllocator::bytesFor(PageCount pages) {
  return FixedArray<int32_t>::bytesFor(pages.raw()) + FixedArray<int32_t>::bytesFor(pages.raw());
}

} // namespace writ
