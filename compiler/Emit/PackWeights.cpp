#include "compiler/Emit/PackWeights.h"

#include "compiler/Emit/PackBlocks.h"
#include "writ/packed_layout.h"

#include <cstring>

namespace writ {
namespace {

struct ScalarStorage {
  std::string_view name;
  int64_t bytes;
};
constexpr ScalarStorage kScalars[] = {{"f32", 4}, {"f16", 2}, {"bf16", 2}, {"f64", 8}, {"i32", 4}};

const ScalarStorage *findScalar(std::string_view name) {
  for (const ScalarStorage &storage : kScalars)
    if (storage.name == name)
      return &storage;
  return nullptr;
}

/// Above this no size of either kind overflows 64 bits.
constexpr int64_t kMostElements = int64_t(1) << 56;

bool sensible(int64_t n, int64_t k) {
  return n >= 1 && k >= 1 && n <= kMostElements / k;
}

/// The scalars of panel16: element (r, i) of the weight is element i * 16 + r % 16 of panel r / 16.
bool panelScalar(std::string_view storage) {
  return storage == "f32" || storage == "f16" || storage == "bf16";
}

/// Calls move(first byte of a block in the file, first byte of its panel, row of the panel, block).
template <typename Move>
void forBlocks(const BlockStorage &storage, int64_t n, int64_t k, Move move) {
  const int64_t blocks = k / storage.elements, stride = storage.panelStride(k);
  for (int64_t row = 0; row < n; ++row)
    for (int64_t block = 0; block < blocks; ++block)
      move((row * blocks + block) * storage.bytes, row / kPanelRows * stride, row % kPanelRows,
           block);
}

template <typename Move> void forScalars(int64_t bytes, int64_t n, int64_t k, Move move) {
  const int64_t stride = panelStride(bytes, k);
  for (int64_t panel = 0; panel < panelCount(n); ++panel)
    for (int64_t r = 0; r < kPanelRows && panel * kPanelRows + r < n; ++r)
      for (int64_t i = 0; i < k; ++i)
        move(((panel * kPanelRows + r) * k + i) * bytes,
             panel * stride + (i * kPanelRows + r) * bytes);
}

} // namespace

int64_t fileBytes(std::string_view storage, int64_t n, int64_t k) {
  if (!sensible(n, k))
    return -1;
  if (const ScalarStorage *scalar = findScalar(storage))
    return n * k * scalar->bytes;
  const BlockStorage *block = findBlockStorage(storage);
  if (!block || k % block->elements != 0)
    return -1;
  return n * (k / block->elements) * block->bytes;
}

int64_t packedBytes(std::string_view layout, std::string_view storage, int64_t n, int64_t k) {
  const int64_t bytes = fileBytes(storage, n, k);
  if (bytes < 0 || layout == "plain")
    return bytes;
  if (layout == "panel16" && panelScalar(storage))
    return panelCount(n) * panelStride(findScalar(storage)->bytes, k);
  if (const BlockStorage *block = findBlockStorage(storage); block && layout == block->layout)
    return panelCount(n) * block->panelStride(k);
  return -1;
}

bool packWeight(std::string_view layout, std::string_view storage, int64_t n, int64_t k,
                const std::byte *file, std::byte *packed) {
  const int64_t bytes = packedBytes(layout, storage, n, k);
  if (bytes < 0)
    return false;
  if (layout == "plain") {
    std::memcpy(packed, file, static_cast<size_t>(bytes));
    return true;
  }
  std::memset(packed, 0, static_cast<size_t>(bytes));
  if (layout == "panel16") {
    const int64_t size = findScalar(storage)->bytes;
    forScalars(size, n, k, [&](int64_t from, int64_t to) {
      std::memcpy(packed + to, file + from, static_cast<size_t>(size));
    });
  } else {
    const BlockStorage &blocks = *findBlockStorage(storage);
    forBlocks(blocks, n, k, [&](int64_t from, int64_t panel, int64_t row, int64_t block) {
      blocks.pack(file + from, packed + panel, row, block, k);
    });
  }
  return true;
}

bool unpackWeight(std::string_view layout, std::string_view storage, int64_t n, int64_t k,
                  const std::byte *packed, std::byte *file) {
  const int64_t bytes = packedBytes(layout, storage, n, k);
  if (bytes < 0)
    return false;
  if (layout == "plain") {
    std::memcpy(file, packed, static_cast<size_t>(bytes));
  } else if (layout == "panel16") {
    const int64_t size = findScalar(storage)->bytes;
    forScalars(size, n, k, [&](int64_t from, int64_t to) {
      std::memcpy(file + from, packed + to, static_cast<size_t>(size));
    });
  } else {
    const BlockStorage &blocks = *findBlockStorage(storage);
    std::memset(file, 0, static_cast<size_t>(fileBytes(storage, n, k)));
    forBlocks(blocks, n, k, [&](int64_t from, int64_t panel, int64_t row, int64_t block) {
      blocks.unpack(file + from, packed + panel, row, block, k);
    });
  }
  return true;
}

} // namespace writ
