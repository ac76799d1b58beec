//===- sample_mpfr_test.cpp - what is drawn, against real arithmetic ------===//
//
// C8's first comparison where the result is a choice: the token is the one that real arithmetic
// gives wherever no decision is nearer to its edge than the declared errors, and one of those on
// both sides of the edge elsewhere. Nearly all draws are of the first kind, so that a wrong word is
// seen.
//
//===----------------------------------------------------------------------===//
#include "tests/conformance/SampleOracle.h"
#include "tests/conformance/Shapes.h"

#include <cstring>
#include <functional>
#include <gtest/gtest.h>

namespace writ::test {
namespace {

using reference::SampleRequest;

/// What may be asked of a draw: each step alone, and all together.
std::vector<SampleRequest> requests(int64_t vocabulary) {
  const auto last = static_cast<int32_t>(vocabulary - 1);
  return {{},
          {.repeatPenalty = 1.3f, .recent = {0, last, 0}},
          {.temperature = 1},
          {.temperature = 0.3f},
          {.temperature = 3},
          {.temperature = 1, .topK = vocabulary / 2},
          {.temperature = 1, .topP = 0.913f},
          {.temperature = 1, .topP = 0.217f},
          {.temperature = 1, .minP = 0.05f},
          {.temperature = 0.7f,
           .topP = 0.947f,
           .minP = 0.02f,
           .repeatPenalty = 1.1f,
           .topK = 40,
           .recent = {1, 2, last}}};
}

/// Logits that are rejected, and those at the ends of binary32, are sampler_test's.
constexpr Fill kFinite[] = {Fill::plain, Fill::cancelling, Fill::spread,     Fill::equal,
                            Fill::tiny,  Fill::dominating, Fill::alternating};

struct Tally {
  int64_t draws = 0, decided = 0, wrong = 0;
};

/// Draws by the reference what `alter` makes of each problem, and judges it as it was before.
Tally drawAll(const std::string &contract, int64_t vocabulary, Fill fill, int64_t rows,
              const std::function<void(Problem &)> &alter = nullptr) {
  Tally tally;
  uint64_t stream = 0;
  for (const SampleRequest &asked : requests(vocabulary)) {
    const Dimensions shape{{"rows", rows}, {"vocabulary", vocabulary}};
    const auto make = [&] {
      auto problem = makeProblem(contract, shape, {.fill = fill, .seed = 1 + stream});
      for (int64_t row = 0; row < rows; ++row) {
        SampleRequest &request = problem->call.samples.at(static_cast<size_t>(row)) = asked;
        request.seed = 0x9e3779b97f4a7c15 * (stream + 1);
        request.stream = stream << 31;
        request.position = static_cast<uint64_t>(row) << (row % 2 ? 0 : 33);
        for (int32_t &token : request.recent)
          token = std::min(token, static_cast<int32_t>(vocabulary - 1));
      }
      return problem;
    };
    const auto judged = make(), drawn = make();
    if (alter)
      alter(*drawn);
    drawn->evaluate();
    for (int64_t row = 0; row < rows; ++row) {
      int32_t token = 0;
      std::memcpy(&token, drawn->buffers.at("token").base() + 4 * row, 4);
      const std::set<int32_t> possible = tokensOf(*judged, row);
      ++tally.draws;
      tally.decided += possible.size() == 1;
      tally.wrong += !possible.contains(token);
    }
    ++stream;
  }
  return tally;
}

struct Case {
  std::string contract;
  int64_t vocabulary;
};

void PrintTo(const Case &c, std::ostream *out) {
  *out << c.contract;
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const std::string &id : Data::get().contractsOf("sample"))
    for (const int64_t vocabulary : {1, 2, 65, 300})
      list.push_back({id, vocabulary});
  return list;
}

class C8_SampleIsExact : public testing::TestWithParam<Case> {};

TEST_P(C8_SampleIsExact, WhereNoDecisionIsAtItsEdge) {
  const auto &[contract, vocabulary] = GetParam();
  constexpr int64_t rows = 6;
  std::string fills;
  Tally all;
  for (const Fill fill : kFinite) {
    const Tally tally = drawAll(contract, vocabulary, fill, rows);
    EXPECT_EQ(tally.wrong, 0) << nameOf(fill);
    // Where all are alike, top-p and the draw fall on edges more often.
    EXPECT_GE(tally.decided * 10, tally.draws * 9) << nameOf(fill);
    all.draws += tally.draws;
    all.decided += tally.decided;
    all.wrong += tally.wrong;
    fills += (fills.empty() ? "" : ",") + std::string(nameOf(fill));
  }
  // For the contract's evidence record: its bound is 0, the token or another one.
  RecordProperty("contract", contract);
  RecordProperty("worst_error_over_bound", all.wrong == 0 ? "0" : "inf");
  RecordProperty("inputs", static_cast<int>(all.draws));
  RecordProperty("elements", static_cast<int>(all.decided));
  RecordProperty("seeds", "1,2,3,4,5,6,7,8,9,10"); // one for each kind of request
  RecordProperty("fills", fills);
  RecordProperty("shape", nameOf(Shape{{{"rows", rows}, {"vocabulary", vocabulary}}, {}}));
}

INSTANTIATE_TEST_SUITE_P(, C8_SampleIsExact, testing::ValuesIn(cases()), [](const auto &info) {
  return info.param.contract + "_vocabulary" + std::to_string(info.param.vocabulary);
});

class C8_SampleOracleSees : public testing::TestWithParam<std::string> {};

// Negative controls: each decision that is made otherwise gives other tokens.
TEST_P(C8_SampleOracleSees, AnotherDecisionIsSeen) {
  const auto wrong = [&](const std::function<void(SampleRequest &)> &change) {
    return drawAll(GetParam(), 65, Fill::plain, 40,
                   [&](Problem &problem) {
                     for (SampleRequest &request : problem.call.samples)
                       change(request);
                   })
        .wrong;
  };
  EXPECT_GT(wrong([](SampleRequest &r) { r.seed ^= 1; }), 0);
  EXPECT_GT(wrong([](SampleRequest &r) { r.seed ^= uint64_t(1) << 40; }), 0);
  EXPECT_GT(wrong([](SampleRequest &r) { r.stream ^= uint64_t(1) << 40; }), 0);
  EXPECT_GT(wrong([](SampleRequest &r) { r.position ^= uint64_t(1) << 40; }), 0);
  EXPECT_GT(wrong([](SampleRequest &r) { r.temperature *= 1.01f; }), 0);
  EXPECT_GT(wrong([](SampleRequest &r) { r.topK -= r.topK > 0; }), 0);
  EXPECT_GT(wrong([](SampleRequest &r) { r.topP = r.topP < 1 ? r.topP * 0.97f : 1; }), 0);
  EXPECT_GT(wrong([](SampleRequest &r) { r.minP *= 1.5f; }), 0);
  EXPECT_GT(wrong([](SampleRequest &r) { r.recent.clear(); }), 0);
}

TEST_P(C8_SampleOracleSees, ANearlyRightExponentialIsSeen) {
  const auto alter = [](Problem &problem) {
    for (auto &function : problem.functions["functions"])
      if (function["name"] == problem.contract["function"])
        function["constants"]["C0"] = "0x1.8p-1"; // 0x1.fffffcp-2: off by 3 % at most
  };
  EXPECT_GT(drawAll(GetParam(), 65, Fill::plain, 40, alter).wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(, C8_SampleOracleSees,
                         testing::ValuesIn(Data::get().contractsOf("sample")),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace writ::test
