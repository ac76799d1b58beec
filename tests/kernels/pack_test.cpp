// Packing is a rearrangement: it loses nothing, pads with zeros, and puts each element where
// writ/packed_layout.h says.
#include "compiler/Emit/PackWeights.h"
#include "writ/packed_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace writ {
namespace {

using Bytes = std::vector<std::byte>;

Bytes randomBytes(int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes bytes(static_cast<size_t>(count));
  for (std::byte &byte : bytes)
    byte = static_cast<std::byte>(random());
  return bytes;
}

struct Pair {
  const char *layout, *storage;
};
constexpr Pair kPairs[] = {{"panel16_k4", "q4_0"},
                           {"panel16_k4", "q4_1"},
                           {"panel16_k4", "q5_0"},
                           {"panel16_k4", "q5_1"},
                           {"panel16_k4", "q8_0"},
                           {"panel16_k4_b256", "q4_k"},
                           {"panel16_k4_b256", "q5_k"},
                           {"panel16_k4_b256", "q6_k"},
                           {"panel16", "f32"},
                           {"panel16", "f16"},
                           {"panel16", "bf16"},
                           {"plain", "f32"},
                           {"plain", "f64"},
                           {"plain", "q4_1"},
                           {"plain", "q6_k"}};

TEST(PackWeights, RoundTrips) {
  for (const Pair &pair : kPairs)
    for (const int64_t n : {1, 15, 16, 17, 33, 64})
      for (const int64_t k : {32, 96, 160, 256, 576, 768}) {
        if (fileBytes(pair.storage, n, k) < 0)
          continue; // k is no multiple of the storage's block
        const Bytes file = randomBytes(fileBytes(pair.storage, n, k), 1);
        Bytes packed = randomBytes(packedBytes(pair.layout, pair.storage, n, k), 2);
        Bytes back(file.size());
        ASSERT_TRUE(packWeight(pair.layout, pair.storage, n, k, file.data(), packed.data()));
        ASSERT_TRUE(unpackWeight(pair.layout, pair.storage, n, k, packed.data(), back.data()));
        EXPECT_EQ(file, back) << pair.layout << " " << pair.storage << " " << n << " " << k;
        // every byte is written: another background gives the same bytes
        Bytes again = randomBytes(static_cast<int64_t>(packed.size()), 3);
        ASSERT_TRUE(packWeight(pair.layout, pair.storage, n, k, file.data(), again.data()));
        EXPECT_EQ(packed, again);
      }
}

// Three blocks are a record of two and one of one.
TEST(PackWeights, PlacesEachElementOfABlock) {
  const int64_t n = 18, k = 96, row = 17, record = 2 * (256 + 32 + 32);
  struct Place {
    int64_t block, codes, scales, minimums;
  };
  for (const Place &place :
       {Place{0, 0, 2 * 256, 2 * 256 + 2 * 32}, Place{1, 256, 2 * 256 + 32, 2 * 256 + 2 * 32 + 32},
        Place{2, record, record + 256, record + 256 + 32}}) {
    Bytes file(static_cast<size_t>(fileBytes("q4_1", n, k)));
    std::byte *from = file.data() + (row * 3 + place.block) * 20;
    from[0] = std::byte{0x12}; // d
    from[2] = std::byte{0x34}; // m
    from[4 + 7] = std::byte{0xBA};
    Bytes packed(static_cast<size_t>(packedBytes("panel16_k4", "q4_1", n, k)));
    ASSERT_TRUE(packWeight("panel16_k4", "q4_1", n, k, file.data(), packed.data()));
    const std::byte *panel = packed.data() + panelStride(kPanelBytesQ4_1, k);
    EXPECT_EQ(panel[place.codes + 64 + 1 * 4 + 3], std::byte{0xBA}); // v = 1, r = 1, j = 3
    EXPECT_EQ(panel[place.scales + 2], std::byte{0x12}) << place.block;
    EXPECT_EQ(panel[place.minimums + 2], std::byte{0x34}) << place.block;
  }
}

// What is read together lies together, and what is read as vectors on cache lines.
TEST(PackWeights, RecordsOfBlocksFollowEachOtherOnCacheLines) {
  for (const BlockPanelBytes &bytes :
       {kPanelBytesQ4_0, kPanelBytesQ4_1, kPanelBytesQ5_0, kPanelBytesQ5_1, kPanelBytesQ8_0})
    for (const int64_t blocks : {1, 2, 3, 18}) {
      int64_t end = 0;
      for (int64_t block = 0; block < blocks; ++block) {
        const BlockParts parts = blockParts(bytes, blocks, block);
        EXPECT_EQ(parts.codes % kVectorBytes, 0);
        const bool second = block % kRecordBlocks != 0, alone = !second && block + 1 == blocks;
        EXPECT_EQ(parts.codes, second ? end + bytes.codes : end);
        EXPECT_EQ(parts.scales, end + (alone ? 1 : 2) * bytes.codes + (second ? bytes.scales : 0));
        if (second || alone)
          end += (alone ? 1 : 2) * bytes.block();
      }
      EXPECT_EQ(alignUp(end, kPackedAlignment), panelStride(bytes, blocks * kBlockElements));
    }
}

TEST(PackWeights, StoresSignedBytesWithABias) {
  const int64_t n = 1, k = 32;
  Bytes file(34), packed(static_cast<size_t>(packedBytes("panel16_k4", "q8_0", n, k)));
  file[2 + 9] = std::byte{0xFF}; // -1
  ASSERT_TRUE(packWeight("panel16_k4", "q8_0", n, k, file.data(), packed.data()));
  EXPECT_EQ(packed[2 * 64 + 1], std::byte{127});
  EXPECT_EQ(packed[0], std::byte{128});
  EXPECT_EQ(packed[4], std::byte{0}); // a row beyond n
}

// The places of packed_layout.h against values that are set in the file's block by hand.
TEST(PackWeights, PlacesHighBitsAndNibblesOfFiveBits) {
  const int64_t n = 3, k = 32, row = 2;
  Bytes file(static_cast<size_t>(fileBytes("q5_0", n, k)));
  Bytes packed(static_cast<size_t>(packedBytes("panel16_k4", "q5_0", n, k)));
  std::byte *block = file.data() + row * 22;
  block[2 + 2] = std::byte{0x20}; // bit 21: element 21 = 4 * 5 + 1
  block[6 + 5] = std::byte{0x70}; // element 21: 7 in the high nibble of byte 5
  ASSERT_TRUE(packWeight("panel16_k4", "q5_0", n, k, file.data(), packed.data()));
  const CodePlace place = blockPlace(kCodes5, 5);
  const auto at = [&](int64_t vector) {
    return std::to_integer<int>(packed[static_cast<size_t>(vector * 64 + row * 4 + 1)]);
  };
  EXPECT_EQ(at(place.low) >> place.lowShift & 15, 7);
  EXPECT_EQ(at(place.high) >> place.highShift & 1, 1);
  EXPECT_EQ(std::count_if(packed.begin(), packed.end(), [](auto b) { return b != std::byte{}; }),
            2);
}

TEST(PackWeights, PlacesSubScalesOfSixBits) {
  const int64_t n = 1, k = 256;
  Bytes file(144), packed(static_cast<size_t>(packedBytes("panel16_k4_b256", "q4_k", n, k)));
  // sub-scale 6 = 45 = 2 * 16 + 13, sub-minimum 6 = 27 = 1 * 16 + 11, sub-scale 2 = 5
  file[4 + 10] = std::byte{0xBD}, file[4 + 2] = std::byte{0x85}, file[4 + 6] = std::byte{0x40};
  ASSERT_TRUE(packWeight("panel16_k4_b256", "q4_k", n, k, file.data(), packed.data()));
  const auto at = [&](int64_t offset) {
    return std::to_integer<int>(packed[static_cast<size_t>(offset)]);
  };
  EXPECT_EQ(at(kPanelBytesQ4_K.subScales() + 3 * 32), 45);
  EXPECT_EQ(at(kPanelBytesQ4_K.subMinimums() + 3 * 32), 27);
  EXPECT_EQ(at(kPanelBytesQ4_K.subScales() + 1 * 32), 5);
}

TEST(PackWeights, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(packedBytes("panel16_k4", "q4_k", 16, 256), -1);
  EXPECT_EQ(packedBytes("panel16_k4_b256", "q4_0", 16, 256), -1);
  EXPECT_EQ(packedBytes("panel16_k4_b256", "q6_k", 16, 288), -1);
  EXPECT_EQ(packedBytes("panel16_k4", "f32", 16, 32), -1);
  EXPECT_EQ(packedBytes("panel16", "q4_0", 16, 32), -1);
  EXPECT_EQ(packedBytes("panel16", "f64", 16, 32), -1);
  EXPECT_EQ(packedBytes("panel16_k4", "q4_0", 16, 33), -1);
  EXPECT_EQ(packedBytes("panel32", "f32", 16, 32), -1);
  EXPECT_EQ(packedBytes("plain", "q9_9", 16, 32), -1);
  EXPECT_EQ(packedBytes("plain", "f32", 0, 32), -1);
  EXPECT_EQ(packedBytes("plain", "f32", -1, -32), -1);
  EXPECT_EQ(packedBytes("plain", "f32", INT64_MAX, 2), -1);
  std::byte byte{};
  EXPECT_FALSE(packWeight("panel32", "f32", 1, 1, &byte, &byte));
  EXPECT_FALSE(unpackWeight("panel32", "f32", 1, 1, &byte, &byte));
}

// DESIGN: packed bytes stay within 1.03 of the file's, for whole panels.
TEST(PackWeights, StaysNearTheFilesSize) {
  for (const Pair &pair : kPairs)
    for (const int64_t k : {512, 576, 1536, 4096})
      if (pair.storage[0] == 'q' && fileBytes(pair.storage, 576, k) > 0) {
        EXPECT_LE(static_cast<double>(packedBytes(pair.layout, pair.storage, 576, k)),
                  1.03 * static_cast<double>(fileBytes(pair.storage, 576, k)))
            << pair.storage;
      }
}

} // namespace
} // namespace writ
