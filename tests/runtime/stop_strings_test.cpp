//===- stop_strings_test.cpp - text up to a stop string --------------------===//

#include "scheduler/stop_strings.h"

#include <gtest/gtest.h>
#include <random>

using writ::StopStrings;

namespace {

TEST(StopStrings, N18_TextThatMayBeAStopIsHeldBack) {
  StopStrings stops({"END", "\n\n"});
  EXPECT_EQ(stops.push("abcE"), "abc");
  EXPECT_EQ(stops.push("N"), "");
  EXPECT_EQ(stops.push("X"), "ENX");
  EXPECT_EQ(stops.push("\n"), "");
  EXPECT_FALSE(stops.met());
  EXPECT_EQ(stops.push("\nmore"), "");
  EXPECT_TRUE(stops.met());
  EXPECT_EQ(stops.push("more"), "");
  EXPECT_EQ(stops.finish(), "");
}

TEST(StopStrings, N18_WhatWasHeldComesAtTheEnd) {
  StopStrings stops({"END"});
  EXPECT_EQ(stops.push("xEN"), "x");
  EXPECT_EQ(stops.finish(), "EN");
  EXPECT_FALSE(stops.met());
}

TEST(StopStrings, N18_AnyCuttingGivesWhatTheWholeTextGives) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (unsigned i = random() % 14; i > 0; --i)
      text += char('a' + random() % 2);
    std::vector<std::string> strings;
    for (unsigned i = random() % 3; i > 0; --i) {
      strings.emplace_back();
      for (unsigned j = 1 + random() % 4; j > 0; --j)
        strings.back() += char('a' + random() % 2);
    }
    // The oracle: the shortest beginning of the text that contains a stop string says which.
    std::string expected = text;
    bool met = false;
    for (size_t end = 0; end <= text.size() && !met; ++end)
      for (const std::string &string : strings)
        if (const size_t at = text.substr(0, end).find(string); at != std::string::npos) {
          expected = !met ? text.substr(0, at) : std::min(expected, text.substr(0, at));
          met = true;
        }
    StopStrings stops(strings);
    std::string shown;
    for (const char c : text)
      shown += stops.push({&c, 1});
    shown += stops.finish();
    EXPECT_EQ(shown, expected) << text;
    EXPECT_EQ(stops.met(), met);
  }
}

} // namespace
