//===- ArenaPlanTest.cpp - buffers never lie on a buffer that they need ---===//
#include "compiler/Passes/ArenaPlan.h"

#include <gtest/gtest.h>
#include <random>

namespace writ {
namespace {

int64_t rounded(int64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

TEST(ArenaPlan, BuffersThatDoNotLiveTogetherShareBytes) {
  std::vector<PlannedBuffer> buffers = {{100, {{0, 1}}}, {100, {{1, 2}}}, {100, {{2, 3}}}};
  EXPECT_EQ(planArena(buffers), 256);
  EXPECT_EQ(buffers[0].offset, 0);
  EXPECT_EQ(buffers[1].offset, 128);
  EXPECT_EQ(buffers[2].offset, 0);
}

TEST(ArenaPlan, AGapThatIsTooSmallIsLeft) {
  std::vector<PlannedBuffer> buffers = {
      {64, {{0, 9}}, 0}, {64, {{0, 9}}, 128}, {65, {{2, 9}}}, {64, {{2, 9}}}};
  EXPECT_EQ(planArena(buffers), 320);
  EXPECT_EQ(buffers[2].offset, 192);
  EXPECT_EQ(buffers[3].offset, 64);
}

TEST(ArenaPlan, TheLongestLivingComesFirst) {
  std::vector<PlannedBuffer> buffers = {{64, {{0, 1}}}, {64, {{0, 9}}}};
  EXPECT_EQ(planArena(buffers), 128);
  EXPECT_EQ(buffers[1].offset, 0);
}

TEST(ArenaPlan, AFixedBufferKeepsItsOffset) {
  std::vector<PlannedBuffer> buffers = {{64, {{0, 2}}}, {64, {{2, 3}}, 0}};
  EXPECT_EQ(planArena(buffers), 128);
  EXPECT_EQ(buffers[0].offset, 64);
}

TEST(ArenaPlan, APlaceIsFreeBetweenItsRanges) {
  std::vector<PlannedBuffer> buffers = {{64, {{0, 2}, {6, 8}}}, {64, {{3, 5}}}, {64, {{5, 6}}}};
  EXPECT_EQ(planArena(buffers), 128);
  EXPECT_EQ(buffers[1].offset, 0);
  EXPECT_EQ(buffers[2].offset, 64);
}

TEST(ArenaPlan, NoBuffersTakeNoBytes) {
  std::vector<PlannedBuffer> none;
  EXPECT_EQ(planArena(none), 0);
}

TEST(ArenaPlan, LiveBuffersNeverOverlapAndTheSizeIsExact) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<PlannedBuffer> buffers(random() % 40 + 1);
    for (PlannedBuffer &buffer : buffers) {
      buffer.bytes = random() % 1000 + 1;
      for (int64_t first = random() % 10; first < 40; first += 8 + random() % 20)
        buffer.live.push_back({first, first + int64_t(random() % 8)});
    }
    const int64_t size = planArena(buffers);
    int64_t end = 0;
    for (size_t i = 0; i < buffers.size(); ++i) {
      const PlannedBuffer &a = buffers[i];
      EXPECT_EQ(a.offset % 64, 0);
      end = std::max(end, a.offset + rounded(a.bytes));
      for (size_t j = 0; j < i; ++j) {
        const PlannedBuffer &b = buffers[j];
        bool together = false;
        for (const LiveRange &x : a.live)
          for (const LiveRange &y : b.live)
            together |= x.first <= y.last && y.first <= x.last;
        EXPECT_EQ(together, liveTogether(a, b));
        if (together) {
          EXPECT_TRUE(a.offset + rounded(a.bytes) <= b.offset ||
                      b.offset + rounded(b.bytes) <= a.offset);
        }
      }
    }
    EXPECT_EQ(size, end);
  }
}

} // namespace
} // namespace writ
