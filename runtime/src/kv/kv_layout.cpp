#include "kv/kv_layout.h"

namespace writ {

std::optional<KvLayout> KvLayout::make(const KvShape &shape) {
  if (shape.layers < 1 || shape.kvHeads < 1 || shape.rowBytes.raw() < 1 ||
      shape.pageSize.raw() < 1 || shape.pages.raw() < 1 ||
      shape.pages.raw() > std::numeric_limits<int32_t>::max())
    return std::nullopt;
  KvLayout layout;
  layout.dimensions = shape;
  const auto token = checkedMultiply(shape.kvHeads, shape.rowBytes.raw());
  const auto page = token ? checkedMultiply(*token, shape.pageSize.raw()) : std::nullopt;
  const auto layer = page ? checkedMultiply(*page, shape.pages.raw()) : std::nullopt;
  const auto plane = layer ? checkedMultiply(*layer, shape.layers) : std::nullopt;
  if (!plane || !checkedMultiply(*plane, 2))
    return std::nullopt;
  layout.token = ByteCount(*token);
  layout.page = ByteCount(*page);
  layout.layer = ByteCount(*layer);
  layout.plane = ByteCount(*plane);
  return layout;
}

std::optional<ByteOffset> KvLayout::offset(KvPlane which, LayerId layerId, PageId pageId,
                                           TokenInPage inPage, HeadId head) const {
  const auto below = [](int64_t index, int64_t bound) { return index >= 0 && index < bound; };
  if (!below(layerId.raw(), dimensions.layers) || !below(pageId.raw(), dimensions.pages.raw()) ||
      !below(inPage.raw(), dimensions.pageSize.raw()) || !below(head.raw(), dimensions.kvHeads))
    return std::nullopt;
  return ByteOffset((which == KvPlane::value ? plane.raw() : 0) + layerId.raw() * layer.raw() +
                    pageId.raw() * page.raw() + inPage.raw() * token.raw() +
                    head.raw() * dimensions.rowBytes.raw());
}

} // namespace writ
