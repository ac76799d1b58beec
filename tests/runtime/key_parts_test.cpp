#include "scheduler/key_parts.h"

#include <gtest/gtest.h>
#include <vector>

namespace writ {
namespace {

/// 4 KiB of K and V for each position.
int64_t parts(std::vector<int32_t> position, int threads, int64_t window = 0) {
  const writ_kv_group group{"f16", 1, 8, 128, 256, window};
  return keyParts(group, position, threads);
}

TEST(KeyParts, S1_OneForEachChunkOfTheLongestRow) {
  EXPECT_EQ(parts({0}, 2), 1);
  EXPECT_EQ(parts({510}, 2), 1);
  EXPECT_EQ(parts({511}, 2), 2);
  EXPECT_EQ(parts({512}, 2), 2);
  EXPECT_EQ(parts({4095}, 2), 16);
  EXPECT_EQ(parts({3, 4095, 17}, 7), 16);
}

TEST(KeyParts, S1_AWindowBoundsTheKeys) {
  EXPECT_EQ(parts({4095}, 2, 511), 1);
  EXPECT_EQ(parts({4095}, 2, 512), 2);
  EXPECT_EQ(parts({255}, 2, 512), 1);
}

TEST(KeyParts, S1_OneThreadAndManyRowsKeepKeysTogether) {
  EXPECT_EQ(parts({4095}, 1), 1);
  EXPECT_EQ(parts({4095, 4095, 4095, 4095}, 2), 16);
  EXPECT_EQ(parts({4095, 4095, 4095, 4095, 4095}, 2), 1);
  EXPECT_EQ(parts({}, 2), 1);
}

TEST(KeyParts, S1_FewBytesAreNotWorthABarrier) {
  const writ_kv_group small{"f16", 1, 1, 64, 128, 0}; // 256 bytes for each position
  EXPECT_EQ(keyParts(small, std::vector<int32_t>{1534}, 2), 1);
  EXPECT_EQ(keyParts(small, std::vector<int32_t>{1535}, 2), 6);
  EXPECT_EQ(keyParts(small, std::vector<int32_t>{767, 767}, 2), 3) << "of all rows together";
}

} // namespace
} // namespace writ
