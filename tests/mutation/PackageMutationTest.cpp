//===- PackageMutationTest.cpp - a spoilt package is refused, never crashes ===//
//
// Each JSON file of a package, and the ids that a user gives, with a mistake: the runtime and the
// tool go on with it, or say which file it is. The target fuzz_package goes further through the
// same readers.
//
//===----------------------------------------------------------------------===//
#include "tests/mutation/Memory.h"
#include "tests/mutation/MutateJson.h"
#include "tests/mutation/PackageReaders.h"

#include <gtest/gtest.h>

namespace writ::test {
namespace {

void spoil(PackagePart part, int runs, uint64_t seed) {
  const PackageReaders readers;
  ASSERT_EQ(readers.read(part, readers.good(part)).said, "");
  const int64_t before = forgetPeakKilobytes();
  Xorshift random(seed);
  int accepted = 0;
  for (int run = 0; run < runs; ++run) {
    const std::string bad = mutateJson(readers.good(part), random);
    try {
      const Answer answer = readers.read(part, bad);
      accepted += answer.accepted();
      EXPECT_TRUE(answer.isPlaced) << bad << "\nsays\n" << answer.said;
    } catch (const std::exception &error) {
      FAIL() << bad << "\nends in an exception: " << error.what();
    }
  }
  EXPECT_LT(peakKilobytes() - before, kMemoryBudget);
  // A negative control: some mistakes are harmless, most are not.
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, runs * 2 / 3);
}

TEST(PackageMutation, F12_SpoiltLocksAreRefusedInBoundedMemory) {
  spoil(PackagePart::lock, 1000, 11);
}

TEST(PackageMutation, F12_SpoiltTokenizersAreRefusedInBoundedMemory) {
  spoil(PackagePart::tokenizer, 800, 12);
}

TEST(PackageMutation, F12_SpoiltChatFilesAreRefusedInBoundedMemory) {
  spoil(PackagePart::chat, 400, 13);
}

TEST(PackageMutation, F12_SpoiltReportsAreRefusedInBoundedMemory) {
  spoil(PackagePart::report, 400, 14);
}

TEST(PackageMutation, F12_SpoiltTokenIdsAreRefusedInBoundedMemory) {
  spoil(PackagePart::ids, 400, 15);
}

/// What `writ explain` says where `from` of the report is `to`.
std::string saysOfReport(const std::string &from, const std::string &to) {
  const PackageReaders readers;
  std::string text = readers.good(PackagePart::report);
  text.replace(text.find(from), from.size(), to);
  const std::string said = readers.read(PackagePart::report, text).said;
  return said.substr(std::min(said.find("/report.json"), said.size()));
}

TEST(PackageMutation, F12_E050_ADecisionThatTheReportDoesNotHold) {
  for (const std::string index : {"1", "-1"})
    EXPECT_EQ(saysOfReport("\"decision\": 0", "\"decision\": " + index),
              "/report.json:12:51: error: " + index +
                  " is not the index of one of 1 decisions "
                  "[E050]\n");
}

// A text of it would be made by recursion, one call for each level.
TEST(PackageMutation, F12_E010_AReportNestedTooDeep) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_EQ(saysOfReport("\"n\": 96", "\"n\": " + deep),
            "/report.json:7:154: error: nested deeper than 128 levels [E010]\n");
}

TEST(PackageMutation, F12_E012_AFieldThatTheReportLacksIsNamedAtItsPlace) {
  EXPECT_EQ(saysOfReport("\"partition\": \"column\"", "\"part\": \"column\""),
            "/report.json:5:1: error: missing field 'partition' [E012]\n");
}

} // namespace
} // namespace writ::test
