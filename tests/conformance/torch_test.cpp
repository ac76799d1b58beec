//===- torch_test.cpp - the reference against PyTorch ---------------------===//
//
// What PyTorch made of small inputs stands in tests/data/torch (scripts/evidence/record_torch.py).
// The contract, as the reference runs it, has to be within a fraction of the largest result of each
// case: `toleranceOf`, which the record repeats. PyTorch keeps other orders, so the bits differ;
// the meaning must not.
//
//===----------------------------------------------------------------------===//
#include "ir/Reference/Storage.h"
#include "tests/conformance/Problem.h"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>

namespace writ::test {
namespace {

const nlohmann::json &record() {
  static const nlohmann::json json =
      nlohmann::json::parse(std::ifstream(WRIT_SOURCE_DIR "/tests/data/torch/ops.json"));
  return json;
}

bool isOfBfloat16(const nlohmann::json &entry) {
  const nlohmann::json &operands = Data::get().contracts.at(entry["contract"])["operands"];
  return std::any_of(operands.begin(), operands.end(),
                     [](const nlohmann::json &operand) { return operand["storage"] == "bf16"; });
}

/// What a case is allowed: both sides round in orders of their own, in bfloat16 PyTorch also its
/// result; far from zero a mean is taken off that is 16 times what is left.
double toleranceOf(const nlohmann::json &entry) {
  return isOfBfloat16(entry)                           ? 0x1p-8
         : entry["name"] == "layer_norm_far_from_zero" ? 0x1p-16
                                                       : 0x1p-20;
}

/// The hexadecimal digits of little-endian binary32 values.
std::vector<float> floatsOf(const std::string &digits) {
  std::vector<float> values(digits.size() / 8);
  std::span<std::byte> bytes = std::as_writable_bytes(std::span(values));
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
  return values;
}

void put(Problem &problem, const std::string &operand, const std::vector<float> &values) {
  Buffer &buffer = problem.buffers.at(operand);
  const std::string &storage = problem.call.operands.at(operand).storage;
  ASSERT_EQ(buffer.bytes().size(), values.size() * reference::rowBytes(storage, 1)) << operand;
  for (size_t i = 0; i < values.size(); ++i)
    if (storage == "bf16") { // which holds the value
      std::copy_n(reinterpret_cast<const std::byte *>(&values[i]) + 2, 2, buffer.base() + 2 * i);
      ASSERT_EQ(reference::readScalar(storage, buffer.base(), static_cast<int64_t>(i)), values[i]);
    } else {
      reference::writeScalar(storage, buffer.base(), static_cast<int64_t>(i), values[i]);
    }
}

std::unique_ptr<Problem> problemOf(const nlohmann::json &entry) {
  const Dimensions dimensions = entry["dimensions"];
  ProblemOptions options;
  options.bias = entry["inputs"].contains("bias");
  auto problem = makeProblem(entry["contract"], dimensions, options);
  for (const auto &[operand, digits] : entry["inputs"].items())
    put(*problem, operand, floatsOf(digits));
  for (const auto &[name, value] : entry["numbers"].items())
    problem->call.numbers[name] = value;
  if (entry.contains("tokens"))
    problem->call.rows.token = entry["tokens"].get<std::vector<int32_t>>();
  return problem;
}

/// The largest difference from PyTorch's result, over the largest of that; infinite for a NaN.
double differenceFromTorch(Problem &problem, const nlohmann::json &entry) {
  problem.evaluate();
  const std::vector<float> expected = floatsOf(entry["result"]), found = problem.values("out");
  double largest = 0, difference = expected.size() == found.size() ? 0 : INFINITY;
  for (size_t i = 0; i < expected.size() && i < found.size(); ++i) {
    largest = std::max(largest, std::fabs(double(expected[i])));
    const double error = std::fabs(double(expected[i]) - found[i]);
    difference = error <= difference ? difference : std::isnan(error) ? INFINITY : error;
  }
  return difference / largest;
}

class C8_PyTorchOps : public testing::TestWithParam<size_t> {};

TEST_P(C8_PyTorchOps, TheReferenceIsWithinTheTolerance) {
  const nlohmann::json &entry = record()["cases"][GetParam()];
  EXPECT_EQ(entry["tolerance"], toleranceOf(entry)) << "PyTorch is asked again with another one";
  auto problem = problemOf(entry);
  const double difference = differenceFromTorch(*problem, entry);
  EXPECT_LE(difference, toleranceOf(entry));
  // For the table of the gate.
  RecordProperty("oracle", "PyTorch");
  RecordProperty("contract", entry["contract"].get<std::string>());
  RecordProperty("error_over_allowed", std::to_string(difference / toleranceOf(entry)));
}

INSTANTIATE_TEST_SUITE_P(, C8_PyTorchOps, testing::Range<size_t>(0, record()["cases"].size()),
                         [](const testing::TestParamInfo<size_t> &info) {
                           return record()["cases"][info.param]["name"].get<std::string>();
                         });

TEST(C8_PyTorch, ManyOpsAreRecorded) {
  EXPECT_GE(record()["cases"].size(), 20u);
}

// Negative control: the tolerance sees an operand of which each second element is scaled by a hair,
// by what no tolerance decides.
TEST(C8_PyTorch, ASlightlyOtherOperandIsSeen) {
  for (const auto &entry : record()["cases"]) {
    auto problem = problemOf(entry);
    for (const char *operand : {"weight", "gate", "logits", "input"})
      if (problem->buffers.contains(operand)) {
        std::vector<float> values = problem->values(operand);
        const float factor = isOfBfloat16(entry) ? 1 + 0x1p-5f : 1 + 0x1p-7f;
        for (size_t i = 0; i < values.size(); ++i)
          values[i] *= i % 2 ? factor : 1.0f; // a norm takes a common factor out again
        if (problem->call.operands.at(operand).storage == "bf16")
          for (float &value : values)
            value = std::round(value * 16) / 16;
        put(*problem, operand, values);
        break;
      }
    EXPECT_GT(differenceFromTorch(*problem, entry), toleranceOf(entry)) << entry["name"];
  }
}

// Negative control: another epsilon, cap or activation is another op.
TEST(C8_PyTorch, AnotherNumberOrFunctionIsSeen) {
  size_t seen = 0;
  for (const auto &entry : record()["cases"]) {
    auto problem = problemOf(entry);
    if (problem->call.numbers.contains("epsilon"))
      problem->call.numbers["epsilon"] = 1;
    else if (problem->call.numbers.contains("cap"))
      problem->call.numbers["cap"] = 31;
    else if (problem->contract.contains("activation"))
      problem->contract["function"] =
          problem->contract["activation"] == "silu" ? "gelu_erf_f32_v0" : "silu_f32_v0";
    else
      continue;
    if (problem->family() == "l2_norm")
      problem->call.numbers["epsilon"] = 100; // more than the root
    EXPECT_GT(differenceFromTorch(*problem, entry), toleranceOf(entry)) << entry["name"];
    ++seen;
  }
  EXPECT_GE(seen, 15u);
}

} // namespace
} // namespace writ::test
