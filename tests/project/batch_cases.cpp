//===- batch_cases.cpp - every way in which a GoogleTest test can end -----===//
//
// For test_run_tests.py, which registers these with ctest as gtest_discover_tests does and lets
// scripts/run-tests run them together. They are no tests of the project.
//
//===----------------------------------------------------------------------===//
#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <unistd.h>

namespace {

int runs = 0; ///< tests of this process that have begun

class Ends : public testing::Test {
protected:
  Ends() { ++runs; }
};

TEST_F(Ends, Passes) {}

TEST_F(Ends, PassesToo) {
  std::printf("process %d\n", int(getpid()));
}

TEST_F(Ends, Skips) {
  GTEST_SKIP() << "what it needs is absent";
}

TEST_F(Ends, Fails) {
  std::printf("said on standard output\n");
  std::fprintf(stderr, "said on standard error \x1b\n");
  EXPECT_EQ(1, 2) << "the reason";
}

TEST_F(Ends, Crashes) {
  std::printf("said before the crash\n");
  std::fflush(stdout);
  std::abort();
}

TEST_F(Ends, ExitsWithoutAWord) {
  std::exit(0);
}

TEST_F(Ends, LeavesAFaultForTheExit) {
  std::atexit([] { _exit(23); });
}

TEST_F(Ends, Hangs) {
  for (;;)
    pause();
}

TEST_F(Ends, ZCrashesAfterOthers) {
  if (runs > 1)
    std::abort();
}

TEST_F(Ends, ZReadsTheEnvironment) {
  const char *said = std::getenv("SAID"), *gtest = std::getenv("GTEST_REPEAT");
  EXPECT_STREQ(said ? said : "", "two words");
  EXPECT_EQ(gtest, nullptr);
}

class Parameters : public testing::TestWithParam<int> {};

TEST_P(Parameters, AreOdd) {
  EXPECT_EQ(GetParam() % 2, 1);
}

INSTANTIATE_TEST_SUITE_P(All, Parameters, testing::Values(1, 2, 3));

} // namespace
