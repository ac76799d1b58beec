//===- kv_cache.h - the paged KV of a session -----------------------------===//
//
// One group for each KV shape of the model: an allocation, an allocator of its pages, and a block
// table with a row for each sequence. A sequence of n tokens holds ceil(n / page size) pages of
// every group. The cache knows lengths only as "how many pages"; what is committed is the
// scheduler's business.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "kv/kv_layout.h"
#include "kv/page_allocator.h"
#include "support/memory.h"
#include "writ/model_abi.h"

#include <span>
#include <vector>

namespace writ {

struct KvOptions {
  TokenCount pageSize;
  PageCount pages;            ///< of each group
  PageCount pagesPerSequence; ///< at most; the stride of the block tables
  int64_t sequences = 0;
  uint64_t orderSeed = 0;
  bool poison = false; ///< fill pages with NaN when they are handed out and when they come back
};

struct KvSizes {
  ByteCount planes;        ///< K and V of all groups
  ByteCount tables;        ///< block tables and page lists
  ByteCount bytesPerToken; ///< of all groups
};

class KvCache {
public:
  KvCache() = default;
  /// Throws Failure where a size overflows or memory is refused.
  KvCache(std::span<const writ_kv_group> groups, const KvOptions &options);

  /// What the constructor would allocate.
  static KvSizes plan(std::span<const writ_kv_group> groups, const KvOptions &options);
  KvSizes allocated() const;

  /// Free pages of the group that has fewest.
  PageCount available() const;
  PageCount held(SequenceId sequence) const;
  /// Makes the sequence hold pages for `length` tokens. False, and nothing changed, where some
  /// group has too few pages or the block table's row is too short.
  bool grow(SequenceId sequence, TokenCount length);
  /// Gives back the pages beyond `length` tokens.
  void shrink(SequenceId sequence, TokenCount length);

  TokenCount pageSize() const { return options.pageSize; }
  /// One view for each group, as the kernels read them.
  const writ_kv_view *views() const { return viewTable.data(); }
  /// Room for the states of parts of keys, shared by the groups, which run one after the other.
  void setPartials(float *partials, ByteCount bytes);
  void setParts(size_t group, int64_t parts) { viewTable[group].parts = parts; }

  size_t groupCount() const { return groups.size(); }
  const KvLayout &layout(size_t group) const { return groups[group].layout; }
  const PageAllocator &pages(size_t group) const { return groups[group].pages; }
  /// The physical block of a logical one; nothing where the sequence does not hold it.
  std::optional<PageId> page(size_t group, SequenceId sequence, int64_t logicalBlock) const;

private:
  struct Group {
    KvLayout layout;
    AlignedBuffer memory;
    PageAllocator pages;
    FixedArray<int32_t> table; ///< [sequences][pagesPerSequence]; -1: no page
  };
  void poisonPage(Group &group, PageId page);

  KvOptions options;
  std::vector<Group> groups;
  FixedArray<int32_t> heldPages; ///< [sequences]
  std::vector<writ_kv_view> viewTable;
};

} // namespace writ
