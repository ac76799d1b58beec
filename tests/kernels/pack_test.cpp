// Packing is a rearrangement: it loses nothing, pads with zeros, and puts each element where
// writ/packed_layout.h says.
#include "compiler/Emit/PackWeights.h"
#include "writ/packed_layout.h"

#include <gtest/gtest.h>

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
constexpr Pair kPairs[] = {{"panel16_k4", "q4_0"}, {"panel16_k4", "q4_1"}, {"panel16_k4", "q8_0"},
                           {"panel16", "f32"},     {"panel16", "f16"},     {"panel16", "bf16"},
                           {"plain", "f32"},       {"plain", "f64"},       {"plain", "q4_1"}};

TEST(PackWeights, RoundTrips) {
  for (const Pair &pair : kPairs)
    for (const int64_t n : {1, 15, 16, 17, 33, 64})
      for (const int64_t k : {32, 96, 160, 576}) {
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

TEST(PackWeights, PlacesEachElementOfABlock) {
  const int64_t n = 18, k = 64, row = 17, block = 1;
  Bytes file(static_cast<size_t>(fileBytes("q4_1", n, k)));
  std::byte *from = file.data() + (row * 2 + block) * 20;
  from[0] = std::byte{0x12}; // d
  from[2] = std::byte{0x34}; // m
  from[4 + 7] = std::byte{0xBA};
  Bytes packed(static_cast<size_t>(packedBytes("panel16_k4", "q4_1", n, k)));
  ASSERT_TRUE(packWeight("panel16_k4", "q4_1", n, k, file.data(), packed.data()));
  const std::byte *panel = packed.data() + panelStride(kPanelBytesQ4_1, k);
  EXPECT_EQ(panel[block * 256 + 64 + 1 * 4 + 3], std::byte{0xBA}); // v = 1, r = 1, j = 3
  EXPECT_EQ(panel[2 * 256 + block * 32 + 2], std::byte{0x12});
  EXPECT_EQ(panel[2 * 256 + 64 + block * 32 + 2], std::byte{0x34});
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

TEST(PackWeights, RefusesWhatItDoesNotKnow) {
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
  for (const char *storage : {"q4_0", "q4_1", "q8_0"})
    for (const int64_t k : {576, 1536, 4096})
      EXPECT_LE(static_cast<double>(packedBytes("panel16_k4", storage, 576, k)),
                1.03 * static_cast<double>(fileBytes(storage, 576, k)));
}

} // namespace
} // namespace writ
