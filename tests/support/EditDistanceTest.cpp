//===- EditDistanceTest.cpp - nearest names -------------------------------===//
#include "compiler/Support/EditDistance.h"

#include <gtest/gtest.h>

namespace writ {
namespace {

TEST(EditDistance, CountsEdits) {
  EXPECT_EQ(editDistance("", ""), 0u);
  EXPECT_EQ(editDistance("", "abc"), 3u);
  EXPECT_EQ(editDistance("kitten", "sitting"), 3u);
  EXPECT_EQ(editDistance("fp32", "fp32"), 0u);
  EXPECT_EQ(editDistance("rosw", "rows"), 1u);
  EXPECT_EQ(editDistance("abc", ""), 3u);
  EXPECT_EQ(editDistance("ca", "abc"), 3u);
}

TEST(EditDistance, NearestNamesComeInOrderAndFarOnesNotAtAll) {
  std::vector<std::string> names = {"weights", "weight", "bias", "weight", "height"};
  EXPECT_EQ(nearestNames("wieght", names),
            (std::vector<std::string>{"weight", "height", "weights"}));
  EXPECT_EQ(nearestNames("weight", names),
            (std::vector<std::string>{"weight", "height", "weights"}));
  EXPECT_EQ(nearestNames("weight", names, 1), (std::vector<std::string>{"weight"}));
  EXPECT_TRUE(nearestNames("activation", names).empty());
}

TEST(EditDistance, AVeryLongNameIsNotCompared) {
  EXPECT_TRUE(nearestNames(std::string(1000000, 'a'), std::vector<std::string>{"aa"}).empty());
}

TEST(EditDistance, QuotedList) {
  EXPECT_EQ(quotedList(std::vector<std::string>{"a", "b"}), "'a', 'b'");
  EXPECT_EQ(quotedList({}), "");
}

} // namespace
} // namespace writ
