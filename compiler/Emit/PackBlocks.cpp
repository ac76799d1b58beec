#include "compiler/Emit/PackBlocks.h"

#include "writ/packed_layout.h"

namespace writ {
namespace {

/// The two ways: `bits` moves `count` bits between bit `fileBit` of a file's byte and `packedBit`
/// of a packed one, `byte` a whole byte whose `flip` bits change.
struct Packing {
  using File = const std::byte;
  using Packed = std::byte;
  static void bits(File &file, int fileBit, Packed &packed, int packedBit, int count) {
    packed |= (file >> fileBit & std::byte((1 << count) - 1)) << packedBit;
  }
  static void byte(File &file, Packed &packed, std::byte flip = {}) { packed = file ^ flip; }
};
struct Unpacking {
  using File = std::byte;
  using Packed = const std::byte;
  static void bits(File &file, int fileBit, Packed &packed, int packedBit, int count) {
    file |= (packed >> packedBit & std::byte((1 << count) - 1)) << fileBit;
  }
  static void byte(File &file, Packed &packed, std::byte flip = {}) { file = packed ^ flip; }
};

/// The 16 bits of row r in a run of 16 halves.
template <typename Way>
void moveHalf(typename Way::File *file, typename Way::Packed *halves, int64_t row) {
  for (int64_t i = 0; i < 2; ++i)
    Way::byte(file[i], halves[row * 2 + i]);
}

/// `count` bytes, 4 to a vector.
template <typename Way>
void moveVectors(typename Way::File *file, typename Way::Packed *vectors, int64_t row,
                 int64_t count, std::byte flip = {}) {
  for (int64_t i = 0; i < count; ++i)
    Way::byte(file[i], vectors[i / 4 * kVectorBytes + row * 4 + i % 4], flip);
}

struct Q40 {
  static constexpr BlockPanelBytes kPanel = kPanelBytesQ4_0;
  static constexpr CodeBits kCodes = kCodes4;
};
struct Q41 {
  static constexpr BlockPanelBytes kPanel = kPanelBytesQ4_1;
  static constexpr CodeBits kCodes = kCodes4;
};
struct Q50 {
  static constexpr BlockPanelBytes kPanel = kPanelBytesQ5_0;
  static constexpr CodeBits kCodes = kCodes5;
};
struct Q51 {
  static constexpr BlockPanelBytes kPanel = kPanelBytesQ5_1;
  static constexpr CodeBits kCodes = kCodes5;
};
struct Q80 {
  static constexpr BlockPanelBytes kPanel = kPanelBytesQ8_0;
  static constexpr CodeBits kCodes = kCodes8;
};

template <typename Format> struct Blocks {
  static constexpr int64_t kElements = kBlockElements;
  static constexpr int64_t kHeader = Format::kPanel.minimums ? 4 : 2;
  static constexpr int64_t kHigh = Format::kCodes.highBits ? 4 : 0;
  static constexpr int64_t kLow = Format::kCodes.lowBits * kBlockElements / 8;
  static constexpr int64_t kBytes = kHeader + kHigh + kLow;

  static int64_t stride(int64_t k) { return panelStride(Format::kPanel, k); }

  template <typename Way>
  static void move(typename Way::File *file, typename Way::Packed *panel, int64_t row,
                   int64_t block, int64_t k) {
    const auto [codes, scales, minimums] = blockParts(Format::kPanel, k / kBlockElements, block);
    moveHalf<Way>(file, panel + scales, row);
    if constexpr (Format::kPanel.minimums != 0)
      moveHalf<Way>(file + 2, panel + minimums, row);
    // signed bytes become w + 128
    moveVectors<Way>(file + kHeader + kHigh, panel + codes, row, kLow,
                     Format::kCodes.lowBits == 8 ? std::byte{0x80} : std::byte{});
    for (int64_t element = 0; kHigh != 0 && element < kBlockElements; ++element) {
      const CodePlace place = blockPlace(Format::kCodes, element / 4);
      Way::bits(file[kHeader + element / 8], static_cast<int>(element % 8),
                panel[codes + place.high * kVectorBytes + row * 4 + element % 4],
                static_cast<int>(place.highShift), 1);
    }
  }
};

/// Byte of sub-block j in a run of pairs.
template <typename Packed> Packed &pairByte(Packed *pairs, int64_t row, int64_t j) {
  return pairs[j / 2 * 2 * kPanelRows + row * 2 + j % 2];
}

/// q4_k and q5_k. 6 bits each of 8 sub-scales and 8 sub-minimums in 12 bytes: four bytes hold the
/// first scales and, above them, two bits of the last ones, four the minimums likewise, four the
/// last ones' low nibbles.
template <typename Way>
void moveSixBits(typename Way::File *file, typename Way::Packed *scales,
                 typename Way::Packed *minimums, int64_t row) {
  for (int64_t j = 0; j < 4; ++j) {
    Way::bits(file[j], 0, pairByte(scales, row, j), 0, 6);
    Way::bits(file[j + 4], 0, pairByte(minimums, row, j), 0, 6);
    Way::bits(file[j + 8], 0, pairByte(scales, row, j + 4), 0, 4);
    Way::bits(file[j], 6, pairByte(scales, row, j + 4), 4, 2);
    Way::bits(file[j + 8], 4, pairByte(minimums, row, j + 4), 0, 4);
    Way::bits(file[j + 4], 6, pairByte(minimums, row, j + 4), 4, 2);
  }
}

/// Where the code of element e lies in a block of the file.
struct FilePlace {
  int64_t low, lowBit, high, highBit;
};
/// Byte 32c + l of the nibbles: sub-block 2c low, 2c + 1 high; bit j of byte l of the high bits:
/// sub-block j.
constexpr FilePlace scaledPlace(int64_t low, int64_t high, int64_t e) {
  const int64_t j = e / 32, l = e % 32;
  return {low + j / 2 * 32 + l, j % 2 * 4, high + l, j};
}

struct Q4K {
  static constexpr SuperPanelBytes kPanel = kPanelBytesQ4_K;
  static constexpr CodeBits kCodes = kCodes4;
  static constexpr int64_t kBytes = 144, kScale = 0, kSubScales = 4;
  static constexpr FilePlace place(int64_t e) { return scaledPlace(16, 0, e); }
};
struct Q5K {
  static constexpr SuperPanelBytes kPanel = kPanelBytesQ5_K;
  static constexpr CodeBits kCodes = kCodes5;
  static constexpr int64_t kBytes = 176, kScale = 0, kSubScales = 4;
  static constexpr FilePlace place(int64_t e) { return scaledPlace(48, 16, e); }
};
struct Q6K {
  static constexpr SuperPanelBytes kPanel = kPanelBytesQ6_K;
  static constexpr CodeBits kCodes = kCodes6;
  static constexpr int64_t kBytes = 210, kScale = 208, kSubScales = 192;
  /// Two halves of four runs of 32: runs 0 and 1 low, 2 and 3 high; run p in bits 2p, 2p + 1.
  static constexpr FilePlace place(int64_t e) {
    const int64_t half = e / 128, p = e / 32 % 4, l = e % 32;
    return {half * 64 + p % 2 * 32 + l, p / 2 * 4, 128 + half * 32 + l, 2 * p};
  }
};

template <typename Format> struct Supers {
  static constexpr int64_t kElements = kSuperElements, kBytes = Format::kBytes;

  static int64_t stride(int64_t k) { return panelStride(Format::kPanel, k); }

  template <typename Way>
  static void move(typename Way::File *file, typename Way::Packed *panel, int64_t row,
                   int64_t block, int64_t) {
    constexpr SuperPanelBytes parts = Format::kPanel;
    typename Way::Packed *record = panel + block * parts.record();
    for (int64_t e = 0; e < kSuperElements; ++e) {
      const FilePlace from = Format::place(e);
      const CodePlace to = superPlace(Format::kCodes, parts.subBlocks, e / 4);
      const int64_t byte = row * 4 + e % 4;
      Way::bits(file[from.low], static_cast<int>(from.lowBit), record[to.low * kVectorBytes + byte],
                static_cast<int>(to.lowShift), 4);
      if constexpr (Format::kCodes.highBits != 0)
        Way::bits(file[from.high], static_cast<int>(from.highBit),
                  record[to.high * kVectorBytes + byte], static_cast<int>(to.highShift),
                  Format::kCodes.highBits);
    }
    moveHalf<Way>(file + Format::kScale, record + parts.scales(), row);
    if constexpr (parts.minimums) {
      moveHalf<Way>(file + Format::kScale + 2, record + parts.scaleMinimums(), row);
      moveSixBits<Way>(file + Format::kSubScales, record + parts.subScales(),
                       record + parts.subMinimums(), row);
    } else {
      for (int64_t j = 0; j < parts.subBlocks; ++j)
        Way::byte(file[Format::kSubScales + j], pairByte(record + parts.subScales(), row, j));
    }
  }
};

template <typename Blocks>
constexpr BlockStorage storage(std::string_view name, std::string_view layout) {
  return {name,
          layout,
          Blocks::kElements,
          Blocks::kBytes,
          Blocks::stride,
          Blocks::template move<Packing>,
          Blocks::template move<Unpacking>};
}

constexpr std::string_view kOf32 = "panel16_k4", kOf256 = "panel16_k4_b256";
constexpr BlockStorage kStorages[] = {
    storage<Blocks<Q40>>("q4_0", kOf32),  storage<Blocks<Q41>>("q4_1", kOf32),
    storage<Blocks<Q50>>("q5_0", kOf32),  storage<Blocks<Q51>>("q5_1", kOf32),
    storage<Blocks<Q80>>("q8_0", kOf32),  storage<Supers<Q4K>>("q4_k", kOf256),
    storage<Supers<Q5K>>("q5_k", kOf256), storage<Supers<Q6K>>("q6_k", kOf256)};

} // namespace

const BlockStorage *findBlockStorage(std::string_view name) {
  for (const BlockStorage &storage : kStorages)
    if (storage.name == name)
      return &storage;
  return nullptr;
}

} // namespace writ
