//===- attention_oracle_test.cpp - contracts that claim to match something --===//
//
// The answers of ggml's flash attention and of PyTorch, as they were recorded, beside the contracts
// that claim their arithmetic: within the bound that the contract declares, nearer to it than to
// any other, and bit for bit where the exponential, which is another library's, cannot differ.
//
//===----------------------------------------------------------------------===//
#include "tests/conformance/AttentionCases.h"
#include "tests/conformance/Match.h"
#include "tests/conformance/Oracle.h"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <iostream>
#include <set>

namespace writ::test {
namespace {

const nlohmann::json &record(const std::string &oracle) {
  static std::map<std::string, nlohmann::json> read;
  if (!read.contains(oracle))
    read[oracle] = nlohmann::json::parse(
        std::ifstream(WRIT_SOURCE_DIR "/tests/data/attention/" + oracle + ".json"));
  return read.at(oracle);
}

/// The recorded answer, if the inputs are those that were asked.
std::vector<std::byte> answerOf(const AttentionCase &one, const Problem &problem) {
  for (const nlohmann::json &recorded : record(one.oracle)["cases"]) {
    if (recorded["name"] != one.name)
      continue;
    EXPECT_EQ(recorded["inputs"], inputDigest(problem)) << one.name << ": other inputs";
    const std::string hex = recorded["out"];
    std::vector<std::byte> bytes;
    for (size_t i = 0; i + 1 < hex.size(); i += 2)
      bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    return bytes;
  }
  ADD_FAILURE() << one.name << " is not recorded; run scripts/evidence/record_attention.py";
  return {};
}

class C8_IndependentOracle : public testing::TestWithParam<AttentionCase> {};

TEST_P(C8_IndependentOracle, KeepsTheContractItClaims) {
  const AttentionCase &one = GetParam();
  auto problem = makeProblem(one);
  const std::vector<std::byte> answer = answerOf(one, *problem);
  ASSERT_EQ(answer.size(), problem->buffers.at("out").bytes().size());
  std::copy(answer.begin(), answer.end(), problem->buffers.at("out").base());
  const double worst = worstErrorOverBound(*problem);
  EXPECT_LE(worst, 1) << "the answer is not within the declared bound";
  // For the table of the gate.
  RecordProperty("oracle", one.oracle == "torch" ? "PyTorch" : one.oracle);
  RecordProperty("contract", one.contract);
  RecordProperty("error_over_allowed", std::to_string(worst));
  const std::vector<Likeness> all = likenesses(problem->call, Data::get().contracts, "out", answer);
  ASSERT_FALSE(all.empty());
  const auto own = std::find_if(all.begin(), all.end(), [&](const Likeness &likeness) {
    return likeness.contract == one.contract;
  });
  ASSERT_NE(own, all.end());
  std::cout << one.name << ": " << own->differing << " of " << own->elements
            << " elements differ, by up to " << own->largest << "\n";
  RecordProperty("differing", static_cast<int>(own->differing));
  if (one.exactExponentials) {
    EXPECT_EQ(own->differing, 0);
  }
  // No other contract is nearer. (With few keys, or one worker, others give the same bits.)
  EXPECT_EQ(all.front().differing, own->differing) << "nearest: " << all.front().contract;
}

INSTANTIATE_TEST_SUITE_P(, C8_IndependentOracle, testing::ValuesIn(attentionCases()),
                         [](const auto &info) { return info.param.name; });

// C5: ggml itself, asked the same with 1, 2, 3 and 7 threads, gives one answer below the threshold
// and four from it on.
TEST(C5_F16SplitKv, GgmlsAnswersChangeWithItsThreadsFromTheThresholdOnAndNotBelow) {
  std::map<std::pair<int64_t, bool>, std::vector<std::vector<std::byte>>> answers;
  std::map<std::pair<int64_t, bool>, std::set<std::string>> inputs;
  for (const AttentionCase &one : attentionCases())
    if (one.contract == "f16_online_fp32_merge") {
      const auto problem = makeProblem(one);
      answers[{one.keys, one.exactExponentials}].push_back(answerOf(one, *problem));
      inputs[{one.keys, one.exactExponentials}].insert(inputDigest(*problem));
    }
  ASSERT_EQ(answers.size(), 6u);
  for (const auto &[asked, given] : answers) {
    EXPECT_EQ(inputs.at(asked).size(), 1u);
    EXPECT_EQ(given.size(), 4u);
    EXPECT_EQ((std::set<std::vector<std::byte>>(given.begin(), given.end())).size(),
              asked.first < 512 ? 1u : 4u)
        << asked.first << " keys";
  }
}

// Negative controls: each word that the record is to confirm, altered, is no longer confirmed.
TEST(C8_F16SplitKv, GgmlsAnswerIsNotThatOfAnotherOrder) {
  const auto differing = [](const std::function<void(Problem &)> &alter, int64_t workers) {
    int64_t sum = 0;
    for (const AttentionCase &one : attentionCases()) {
      if (one.contract != "f16_online_fp32_merge" || one.workers != workers || one.keys < 512)
        continue;
      auto problem = makeProblem(one);
      const std::vector<std::byte> answer = answerOf(one, *problem);
      alter(*problem);
      problem->evaluate();
      const auto made = problem->buffers.at("out").bytes();
      for (size_t i = 0; i < made.size() / 4; ++i)
        sum += !sameFloat(floatAt(made, static_cast<int64_t>(i)),
                          floatAt(answer, static_cast<int64_t>(i)));
    }
    return sum;
  };
  const auto word = [](const char *field, const char *value) {
    return [=](Problem &p) { p.contract[field] = value; };
  };
  // Where an exponential is not exact, another library's moves elements of its own.
  const int64_t right = differing([](Problem &) {}, 3), most = right + right / 2;
  for (const auto &[field, value] : std::map<const char *, const char *>{
           {"value_accumulator", "fp32"}, {"rescale_multiply_add", "fma"}, {"q_compute", "fp32"}})
    EXPECT_GT(differing(word(field, value), 3), most) << field;
  EXPECT_GT(differing([](Problem &p) { p.call.schedule.workers = 2; }, 3), most);
  EXPECT_GT(differing([](Problem &p) { p.contract["partition"]["threshold"] = 4096; }, 3), most);
}

} // namespace
} // namespace writ::test
