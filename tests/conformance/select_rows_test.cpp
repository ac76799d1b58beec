//===- select_rows_test.cpp - known answers of copies ---------------------===//
#include "ir/Reference/Storage.h"
#include "tests/conformance/Problem.h"

#include <cstring>
#include <gtest/gtest.h>

namespace writ::test {
namespace {

class C8_SelectRows : public testing::TestWithParam<std::string> {};

// A copy has no error for MPFR to judge: its answer is known.
TEST_P(C8_SelectRows, CopiesTheBitsOfTheRowsThatAreSelected) {
  RecordProperty("contract", GetParam()); // for its evidence record
  const std::string storage = Data::get().contracts.at(GetParam())["operands"]["out"]["storage"];
  for (const int64_t n : {1, 5, 576})
    for (const Fill fill : kFills) {
      auto problem = makeProblem(GetParam(), {{"rows", 4}, {"n", n}}, {fill, 1, true, {}});
      problem->evaluate();
      const int64_t bytes = reference::rowBytes(storage, n);
      const std::vector<int32_t> &selected = problem->call.rows.outputRow;
      ASSERT_EQ(selected.size(), 4u);
      for (size_t row = 0; row < selected.size(); ++row)
        EXPECT_EQ(std::memcmp(problem->buffers.at("out").base() + row * bytes,
                              problem->buffers.at("input").base() + selected[row] * bytes, bytes),
                  0)
            << "row " << row << " of " << n << ", values " << nameOf(fill);
    }
}

INSTANTIATE_TEST_SUITE_P(, C8_SelectRows, testing::ValuesIn(Data::get().contractsOf("select_rows")),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace writ::test
