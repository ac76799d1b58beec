//===- exceptional_words_test.cpp - what each contract says of NaN and infinities ----------===//
//
// Every registered contract is given a NaN, then an infinity, in the first element of what it
// reads, and does what its words say. exceptional_test.cpp and its neighbours have the known
// answers of what IEEE 754 makes of them.
//
//===----------------------------------------------------------------------===//
#include "ir/Reference/Storage.h"
#include "tests/conformance/Problem.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

namespace writ::test {
namespace {

std::vector<std::string> contracts() {
  std::vector<std::string> ids;
  for (const auto &[id, contract] : Data::get().contracts)
    ids.push_back(id);
  return ids;
}

class F8_ExceptionalWords : public testing::TestWithParam<std::string> {
protected:
  std::unique_ptr<Problem> make() const {
    auto problem = makeProblem(GetParam(),
                               {{"rows", 2},
                                {"k", 256},
                                {"n", 256},
                                {"vectors", 1},
                                {"vocabulary", 5},
                                {"heads", 2},
                                {"kv_heads", 1},
                                {"head_dim", 32},
                                {"rope_dims", 8}},
                               {.positions = {3, 5}});
    if (problem->family() == "embedding")
      problem->call.rows.token = {0, 1};
    return problem;
  }
  std::string word(const char *value) const {
    return Data::get().contracts.at(GetParam())["exceptional"][value];
  }
};

/// The angles of one pair after the other: pair 1 is the first that depends on a frequency.
bool repeatsAngles(const Problem &problem) {
  return problem.contract.value("angle", "") == "fp32_repeated_mul_frequency";
}

/// The operand that row 0 of the op reads its first value from.
std::string firstRead(const Problem &problem) {
  for (const char *name :
       {"factors", "frequencies", "activation", "input", "gate", "a", "q", "k", "logits", "weight"})
    if (problem.buffers.contains(name))
      return name;
  throw std::runtime_error("an op that reads nothing");
}

/// Puts a value that is not finite into the first element that the first row reads.
void poison(Problem &problem, float value) {
  const std::string operand = firstRead(problem);
  const std::string storage = problem.call.operands.at(operand).storage;
  std::byte *base = problem.buffers.at(operand).base();
  if (problem.family() == "select_rows")
    base += problem.call.rows.outputRow.at(0) * reference::rowBytes(storage, 256);
  if (reference::isScalar(storage))
    return reference::writeScalar(storage, base, 0, value);
  if (storage == "f64")
    return reference::writeF64(base, repeatsAngles(problem) ? 1 : 0, value);
  if (reference::isCodes(storage) && operand == "activation")
    return reference::ActivationRow(storage, base, 256).setScale(0, value);
  // A block of weights begins with its scale in binary16, but for Q6_K, where that is last.
  reference::writeScalar("f16", base + (storage == "q6_k" ? 208 : 0), 0, value);
}

/// What the op made, as numbers: of codes the scales and then the codes, of a KV state K of the
/// sequence that the row is in.
struct Made {
  double first = 0, last = 0; ///< of the first row, and of another
  std::vector<int> codes;     ///< of the first block
};

Made madeBy(Problem &problem) {
  problem.evaluate();
  Made made;
  if (problem.family() == "kv_store") {
    const int64_t row = reference::rowBytes(problem.kv.storage, 32);
    auto &plane = problem.kv.sequences.at(problem.call.rows.sequence.at(0)).k;
    std::byte *at = plane.data() + problem.call.rows.position.at(0) * row;
    if (reference::isScalar(problem.kv.storage)) {
      made.first = reference::readScalar(problem.kv.storage, at, 0);
      made.last = reference::readScalar(problem.kv.storage, at, 31);
      return made;
    }
    const reference::ActivationRow codes(problem.kv.storage, at, 32);
    made.first = codes.scale(0);
    for (int i = 0; i < 32; ++i)
      made.codes.push_back(codes.code(i));
    return made;
  }
  const std::string operand = problem.outputs().at(0);
  const reference::Operand &out = problem.call.operands.at(operand);
  std::byte *base = problem.buffers.at(operand).base();
  const int64_t columns = out.shape.back(), rows = out.shape.size() > 1 ? out.shape[0] : 1;
  std::byte *lastRow = base + (rows - 1) * reference::rowBytes(out.storage, columns);
  if (out.storage == "i32") {
    int32_t tokens[2];
    std::memcpy(tokens, base, sizeof(tokens));
    made.first = tokens[0], made.last = tokens[1];
  } else if (out.storage == "f64") {
    made.first = reference::readF64(base, 0);
    made.last = reference::readF64(lastRow, columns - 1);
  } else if (reference::isScalar(out.storage)) {
    made.first = reference::readScalar(out.storage, base, 0);
    made.last = reference::readScalar(out.storage, lastRow, columns - 1);
    if (repeatsAngles(problem)) {
      made.last = made.first;
      made.first = reference::readScalar(out.storage, base, 1);
    }
  } else {
    const reference::ActivationRow codes(out.storage, base, columns);
    made.first = codes.scale(0);
    for (int64_t i = 0; i < codes.blockElements(); ++i)
      made.codes.push_back(codes.code(i));
    made.last = reference::ActivationRow(out.storage, lastRow, columns).scale(0);
  }
  return made;
}

bool allZero(const std::vector<int> &codes) {
  return std::all_of(codes.begin(), codes.end(), [](int code) { return code == 0; });
}

TEST_P(F8_ExceptionalWords, ANaNDoesWhatTheContractSays) {
  const auto finite = make(), poisoned = make();
  poison(*poisoned, std::numeric_limits<float>::quiet_NaN());
  const Made before = madeBy(*finite), made = madeBy(*poisoned);
  EXPECT_TRUE(std::isfinite(before.first) && std::isfinite(before.last)) << "without one";
  EXPECT_TRUE(std::isfinite(made.last)) << "it stays where it is";
  const std::string says = word("nan");
  if (says == "propagates" || says == "copied") {
    EXPECT_TRUE(std::isnan(made.first));
  } else if (says == "rejected") {
    EXPECT_GE(before.first, 0);
    EXPECT_EQ(made.first, -1);
    EXPECT_GE(made.last, 0) << "another row";
  } else {
    ASSERT_EQ(says, "block_scale_nan_codes_zero");
    EXPECT_TRUE(std::isnan(made.first));
    EXPECT_FALSE(before.codes.empty() || allZero(before.codes));
    EXPECT_TRUE(allZero(made.codes));
  }
}

TEST_P(F8_ExceptionalWords, AnInfinityDoesWhatTheContractSays) {
  const auto poisoned = make(), finite = make();
  poison(*poisoned, std::numeric_limits<float>::infinity());
  const Made before = madeBy(*finite), made = madeBy(*poisoned);
  EXPECT_TRUE(std::isfinite(made.last)) << "it stays where it is";
  const std::string says = word("infinity");
  if (says == "ieee") { // bounded functions have a finite value there; it is another one
    EXPECT_TRUE(made.first != before.first);
  } else if (says == "copied") {
    EXPECT_EQ(made.first, std::numeric_limits<double>::infinity());
  } else if (says == "rejected") {
    EXPECT_EQ(made.first, -1);
    EXPECT_GE(made.last, 0) << "another row";
  } else {
    ASSERT_EQ(says, "block_scale_nan_codes_zero");
    EXPECT_TRUE(std::isnan(made.first));
    EXPECT_TRUE(allZero(made.codes));
  }
}

INSTANTIATE_TEST_SUITE_P(, F8_ExceptionalWords, testing::ValuesIn(contracts()),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace writ::test
