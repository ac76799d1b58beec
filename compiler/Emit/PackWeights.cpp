#include "compiler/Emit/PackWeights.h"

#include "writ/packed_layout.h"

#include <cstring>

namespace writ {
namespace {

struct ScalarStorage {
  std::string_view name;
  int64_t bytes;
};
constexpr ScalarStorage kScalars[] = {{"f32", 4}, {"f16", 2}, {"bf16", 2}, {"f64", 8}, {"i32", 4}};

struct BlockStorage {
  std::string_view name;
  int64_t headerBytes; ///< d, then m where there is one
  int64_t codeBytes;
  BlockPanelBytes panel;
  bool nibbles;
};
constexpr BlockStorage kBlocks[] = {{"q4_0", 2, 16, kPanelBytesQ4_0, true},
                                    {"q4_1", 4, 16, kPanelBytesQ4_1, true},
                                    {"q8_0", 2, 32, kPanelBytesQ8_0, false}};

const ScalarStorage *findScalar(std::string_view name) {
  for (const ScalarStorage &storage : kScalars)
    if (storage.name == name)
      return &storage;
  return nullptr;
}

const BlockStorage *findBlock(std::string_view name) {
  for (const BlockStorage &storage : kBlocks)
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

/// Calls move(file byte, packed byte) for each byte of the weight's codes and headers.
template <typename Move>
void forBlockBytes(const BlockStorage &storage, int64_t n, int64_t k, Move move) {
  const int64_t blocks = k / kBlockElements, blockBytes = storage.headerBytes + storage.codeBytes;
  const int64_t stride = panelStride(storage.panel, k);
  for (int64_t row = 0; row < n; ++row) {
    const int64_t panel = row / kPanelRows * stride, r = row % kPanelRows;
    const int64_t headers = panel + blocks * storage.panel.codes;
    for (int64_t block = 0; block < blocks; ++block) {
      const int64_t from = (row * blocks + block) * blockBytes;
      for (int64_t half = 0; half < storage.headerBytes; half += 2) // d, then m
        for (int64_t byte = 0; byte < 2; ++byte)
          move(from + half + byte,
               headers + (half / 2 * blocks + block) * 2 * kPanelRows + r * 2 + byte, false);
      for (int64_t i = 0; i < storage.codeBytes; ++i)
        move(from + storage.headerBytes + i,
             panel + block * storage.panel.codes + i / 4 * 64 + r * 4 + i % 4, !storage.nibbles);
    }
  }
}

template <typename Move> void forScalars(int64_t bytes, int64_t n, int64_t k, Move move) {
  const int64_t stride = panelStride(bytes, k);
  for (int64_t panel = 0; panel < panelCount(n); ++panel)
    for (int64_t r = 0; r < kPanelRows && panel * kPanelRows + r < n; ++r)
      for (int64_t i = 0; i < k; ++i)
        move(((panel * kPanelRows + r) * k + i) * bytes,
             panel * stride + (i * kPanelRows + r) * bytes);
}

/// Copies a code byte; those of 8 bits are signed in the file and w + 128 in a panel.
std::byte moved(std::byte value, bool biased) {
  return biased ? value ^ std::byte{0x80} : value;
}

} // namespace

int64_t fileBytes(std::string_view storage, int64_t n, int64_t k) {
  if (!sensible(n, k))
    return -1;
  if (const ScalarStorage *scalar = findScalar(storage))
    return n * k * scalar->bytes;
  const BlockStorage *block = findBlock(storage);
  if (!block || k % kBlockElements != 0)
    return -1;
  return n * (k / kBlockElements) * (block->headerBytes + block->codeBytes);
}

int64_t packedBytes(std::string_view layout, std::string_view storage, int64_t n, int64_t k) {
  const int64_t bytes = fileBytes(storage, n, k);
  if (bytes < 0 || layout == "plain")
    return bytes;
  if (layout == "panel16" && panelScalar(storage))
    return panelCount(n) * panelStride(findScalar(storage)->bytes, k);
  if (layout == "panel16_k4" && findBlock(storage))
    return panelCount(n) * panelStride(findBlock(storage)->panel, k);
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
    forBlockBytes(*findBlock(storage), n, k, [&](int64_t from, int64_t to, bool biased) {
      packed[to] = moved(file[from], biased);
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
    forBlockBytes(*findBlock(storage), n, k, [&](int64_t from, int64_t to, bool biased) {
      file[from] = moved(packed[to], biased);
    });
  }
  return true;
}

} // namespace writ
