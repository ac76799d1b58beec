#include "kv/kv_cache.h"

#include <cstring>

namespace writ {
namespace {

KvLayout layoutOf(const writ_kv_group &group, const KvOptions &options) {
  const auto layout = KvLayout::make(
      {group.layers, group.kv_heads, ByteCount(group.row_bytes), options.pageSize, options.pages});
  if (!layout)
    fail(WRIT_INVALID_ARGUMENT,
         "KV of {} layers, {} heads, {} bytes a head and {} pages of {} tokens does not fit; lower "
         "context_tokens, max_sequences or kv_tokens",
         group.layers, group.kv_heads, group.row_bytes, options.pages.raw(),
         options.pageSize.raw());
  return *layout;
}

int64_t tableEntries(const KvOptions &options) {
  const auto entries = checkedMultiply(options.sequences, options.pagesPerSequence.raw());
  if (!entries || !checkedMultiply(*entries, int64_t(sizeof(int32_t))))
    fail(WRIT_INVALID_ARGUMENT, "block tables of {} sequences of {} pages do not fit",
         options.sequences, options.pagesPerSequence.raw());
  return *entries;
}

ByteCount sum(ByteCount a, ByteCount b) {
  const auto total = checkedAdd(a.raw(), b.raw());
  if (!total)
    fail(WRIT_INVALID_ARGUMENT, "the KV groups together need more than 2^63 bytes");
  return ByteCount(*total);
}

} // namespace

KvSizes KvCache::plan(std::span<const writ_kv_group> groups, const KvOptions &options) {
  KvSizes sizes;
  sizes.tables = FixedArray<int32_t>::bytesFor(options.sequences);
  for (const writ_kv_group &group : groups) {
    const KvLayout layout = layoutOf(group, options);
    sizes.planes = sum(sizes.planes, layout.totalBytes());
    sizes.bytesPerToken = sum(sizes.bytesPerToken, layout.bytesPerToken());
    sizes.tables = sum(sizes.tables, PageAllocator::bytesFor(options.pages));
    sizes.tables = sum(sizes.tables, FixedArray<int32_t>::bytesFor(tableEntries(options)));
  }
  return sizes;
}

KvCache::KvCache(std::span<const writ_kv_group> shapes, const KvOptions &options)
    : options(options), heldPages(options.sequences) {
  groups.reserve(shapes.size());
  for (const writ_kv_group &shape : shapes) {
    Group group;
    group.layout = layoutOf(shape, options);
    group.memory = AlignedBuffer(group.layout.totalBytes(), "the KV pages");
    group.pages = PageAllocator(options.pages, options.orderSeed);
    group.table = FixedArray<int32_t>(tableEntries(options), -1);
    const KvLayout &layout = group.layout;
    std::byte *base = group.memory.data();
    viewTable.push_back({base, base + layout.planeStride().raw(), layout.layerStride().raw(),
                         layout.pageStride().raw(), layout.tokenStride().raw(),
                         options.pageSize.raw(), options.pages.raw(), group.table.data(),
                         options.pagesPerSequence.raw(), 1, nullptr, 0});
    groups.push_back(std::move(group));
    if (options.poison)
      for (int64_t page = 0; page < options.pages.raw(); ++page)
        poisonPage(groups.back(), PageId(page));
  }
}

void KvCache::setPartials(float *partials, ByteCount bytes) {
  for (writ_kv_view &view : viewTable) {
    view.partials = partials;
    view.partial_bytes = bytes.raw();
  }
}

KvSizes KvCache::allocated() const {
  KvSizes sizes;
  sizes.tables = heldPages.bytes();
  for (const Group &group : groups) {
    sizes.planes += group.memory.size();
    sizes.bytesPerToken += group.layout.bytesPerToken();
    sizes.tables += group.pages.bytes() + group.table.bytes();
  }
  return sizes;
}

PageCount KvCache::available() const {
  PageCount fewest(groups.empty() ? 0 : std::numeric_limits<int64_t>::max());
  for (const Group &group : groups)
    fewest = std::min(fewest, group.pages.available());
  return fewest;
}

PageCount KvCache::held(SequenceId sequence) const {
  return PageCount(heldPages[sequence.raw()]);
}

bool KvCache::grow(SequenceId sequence, TokenCount length) {
  const int64_t now = heldPages[sequence.raw()], wanted = pagesFor(length, options.pageSize).raw();
  if (wanted <= now)
    return true;
  if (wanted > options.pagesPerSequence.raw() || wanted - now > available().raw())
    return false;
  for (Group &group : groups)
    for (int64_t block = now; block < wanted; ++block) {
      const PageId page = *group.pages.allocate(sequence);
      group.table[sequence.raw() * options.pagesPerSequence.raw() + block] = int32_t(page.raw());
    }
  heldPages[sequence.raw()] = int32_t(wanted);
  return true;
}

void KvCache::shrink(SequenceId sequence, TokenCount length) {
  const int64_t now = heldPages[sequence.raw()], wanted = pagesFor(length, options.pageSize).raw();
  if (wanted >= now)
    return;
  // The last page first, so that pages come back in the order in which they would be handed out.
  for (Group &group : groups)
    for (int64_t block = now - 1; block >= wanted; --block) {
      int32_t &entry = group.table[sequence.raw() * options.pagesPerSequence.raw() + block];
      const PageId page(entry);
      entry = -1;
      if (options.poison)
        poisonPage(group, page);
      group.pages.release(page, sequence);
    }
  heldPages[sequence.raw()] = int32_t(wanted);
}

std::optional<PageId> KvCache::page(size_t group, SequenceId sequence, int64_t logicalBlock) const {
  if (logicalBlock < 0 || logicalBlock >= heldPages[sequence.raw()])
    return std::nullopt;
  return PageId(
      groups[group].table[sequence.raw() * options.pagesPerSequence.raw() + logicalBlock]);
}

void KvCache::poisonPage(Group &group, PageId page) {
  // All bits set is a NaN in binary16, bfloat16 and binary32.
  for (const KvPlane plane : {KvPlane::key, KvPlane::value})
    for (int64_t layer = 0; layer < group.layout.shape().layers; ++layer) {
      const ByteOffset start =
          *group.layout.offset(plane, LayerId(layer), page, TokenInPage(0), HeadId(0));
      std::memset(group.memory.data() + start.raw(), 0xff, size_t(group.layout.pageStride().raw()));
    }
}

} // namespace writ
