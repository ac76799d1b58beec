// A step has the rows that its caller gives it, and logits none where nobody asked for any. Ten
// thousand rows of a whole model: tests/e2e/test_row_counts.py.
#include "tests/kernels/kernel_case.h"

#include <gtest/gtest.h>

namespace writ::test {
namespace {

class RowCounts : public testing::TestWithParam<std::string> {};

/// The argument that counts rows: of the step, or of the host's call.
std::string rowsOf(const KernelCase &test) {
  return test.integers.contains("dim:rows") ? "dim:rows" : "host:rows";
}

TEST_P(RowCounts, F1_NoRowsWriteNothing) {
  const writ_provider *provider = writ_find_provider(GetParam().c_str());
  Random random(11);
  const auto test = makeCase(GetParam(), Values::ordinary, 2);
  ASSERT_TRUE(test);
  test->integers.at(rowsOf(*test)) = 0;
  for (int isa = WRIT_ISA_SCALAR; isa < WRIT_ISA_COUNT; ++isa) {
    if (!provider->bodies[isa] || !machineHas(static_cast<writ_isa>(isa)))
      continue;
    for (const auto &[name, bytes] : run(*test, provider->bodies[isa], 1, random)) {
      EXPECT_TRUE(bytes == test->outputs.at(name).start)
          << test->description << " " << isaName(isa) << ": " << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, RowCounts, testing::ValuesIn(providerIds()),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace writ::test
