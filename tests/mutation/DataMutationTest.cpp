//===- DataMutationTest.cpp - spoilt data are refused, never crash --------===//
//
// Every kind of JSON file that the compiler reads, with a value, a line or a few bytes changed:
// accepted together with all that is built on it, or refused at a place and under a code. The
// target fuzz_data goes further through the same readers; these runs are the same on every machine.
//
//===----------------------------------------------------------------------===//
#include "tests/mutation/DataReaders.h"
#include "tests/mutation/Memory.h"
#include "tests/mutation/MutateJson.h"

namespace writ::test {
namespace {

class DataMutation : public testing::Test {
protected:
  static void SetUpTestSuite() { readers = std::make_unique<DataReaders>(); }
  static void TearDownTestSuite() { readers.reset(); }

  /// `runs` mistakes, spread over the files of the kind, of which more than `harmless` are none.
  void spoil(DataKind kind, int runs, uint64_t seed) { spoil(kind, runs, seed, runs / 100); }
  void spoil(DataKind kind, int runs, uint64_t seed, int harmless) {
    const std::vector<std::string> &files = readers->files(kind);
    ASSERT_FALSE(files.empty());
    for (size_t i = 0; i < std::min<size_t>(files.size(), 3); ++i)
      ASSERT_EQ(readers->read(kind, files[i], readers->good(files[i])).said, "") << files[i];
    const int64_t before = forgetPeakKilobytes();
    Xorshift random(seed);
    int accepted = 0;
    for (int run = 0; run < runs; ++run) {
      const std::string &file = files[random.below(files.size())];
      const std::string bad = mutateJson(readers->good(file), random);
      try {
        const Answer answer = readers->read(kind, file, bad);
        accepted += answer.accepted();
        EXPECT_TRUE(answer.isPlaced) << file << " as\n" << bad << "\nsays\n" << answer.said;
      } catch (const std::exception &error) {
        FAIL() << file << " as\n" << bad << "\nends in an exception: " << error.what();
      }
    }
    EXPECT_LT(peakKilobytes() - before, kMemoryBudget);
    // A negative control: some mistakes are harmless, most are not.
    EXPECT_GT(accepted, harmless);
    EXPECT_LT(accepted, runs * 2 / 3);
  }

  inline static std::unique_ptr<DataReaders> readers;
};

TEST_F(DataMutation, F12_SpoiltContractsAreRefusedInBoundedMemory) {
  spoil(DataKind::contract, 600, 1);
}

TEST_F(DataMutation, F12_SpoiltProfilesAreRefusedInBoundedMemory) {
  spoil(DataKind::profile, 500, 2);
}

TEST_F(DataMutation, F12_SpoiltKernelMapsAreRefusedInBoundedMemory) {
  spoil(DataKind::map, 1000, 3);
}

TEST_F(DataMutation, F12_SpoiltCircuitsAreRefusedInBoundedMemory) {
  spoil(DataKind::circuit, 900, 4);
}

TEST_F(DataMutation, F12_SpoiltVocabulariesAreRefusedInBoundedMemory) {
  spoil(DataKind::vocabulary, 400, 5);
}

TEST_F(DataMutation, F12_SpoiltRulesOfInvarianceAreRefusedInBoundedMemory) {
  spoil(DataKind::invariance, 300, 10);
}

TEST_F(DataMutation, F12_SpoiltChatTemplatesAreRefusedInBoundedMemory) {
  spoil(DataKind::chat, 900, 6);
}

TEST_F(DataMutation, F12_SpoiltFunctionsAreRefusedInBoundedMemory) {
  spoil(DataKind::functions, 700, 7);
}

TEST_F(DataMutation, F12_SpoiltSchemasAreRefusedInBoundedMemory) {
  spoil(DataKind::schema, 700, 8);
}

TEST_F(DataMutation, F12_SpoiltRecordsOfEvidenceAreRefusedInBoundedMemory) {
  spoil(DataKind::evidence, 1000, 9, 0); // a seal covers all but white space and order
}

} // namespace
} // namespace writ::test
