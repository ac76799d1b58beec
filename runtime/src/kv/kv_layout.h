//===- kv_layout.h - where the K and V of a token lie ---------------------===//
//
// One allocation for each group of layers, a K plane then a V plane, each
//   [layer][physical_block][token_in_block][kv_head][head_dim]
// (DESIGN.md, "Runtime"). Strides follow from the shape alone; nobody supplies a layout.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "writ/units.h"

#include <optional>

namespace writ {

/// The dimensions of one group; every one is at least 1.
struct KvShape {
  int64_t layers = 0;
  int64_t kvHeads = 0;
  ByteCount rowBytes;  ///< one head's vector, row_bytes(storage, head_dim)
  TokenCount pageSize; ///< tokens of one page
  PageCount pages;     ///< physical blocks
};

enum class KvPlane { key, value };

class KvLayout {
public:
  KvLayout() = default;
  /// Nothing where a dimension is below 1, a page id does not fit the block table, or the total
  /// does not fit 63 bits; every later product is then in range.
  static std::optional<KvLayout> make(const KvShape &shape);

  const KvShape &shape() const { return dimensions; }
  ByteCount tokenStride() const { return token; }
  ByteCount pageStride() const { return page; }
  ByteCount layerStride() const { return layer; }
  ByteCount planeStride() const { return plane; }
  ByteCount totalBytes() const { return ByteCount(2 * plane.raw()); }
  /// K and V of one token in all layers of the group.
  ByteCount bytesPerToken() const { return ByteCount(2 * dimensions.layers * token.raw()); }

  /// Where a head's vector lies, from the group's base; nothing where an index is out of range.
  std::optional<ByteOffset> offset(KvPlane plane, LayerId layer, PageId page, TokenInPage token,
                                   HeadId head) const;

private:
  KvShape dimensions;
  ByteCount token, page, layer, plane;
};

} // namespace writ
