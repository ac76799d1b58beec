//===- reference_mpfr_test.cpp - the reference against real arithmetic ----===//
//
// C8's first comparison: each contract, as the reference runs it, stays within the bound that the
// contract declares against MPFR; and for each kind of contract an altered one does not.
//
//===----------------------------------------------------------------------===//
#include "ir/Reference/Storage.h"
#include "tests/conformance/Mpfr.h"
#include "tests/conformance/Oracle.h"
#include "tests/conformance/Shapes.h"

#include <cmath>
#include <gtest/gtest.h>

namespace writ::test {
namespace {

struct Case {
  std::string contract;
  Dimensions dimensions;
  std::vector<Fill> fills;
  std::vector<int32_t> positions;
  int64_t workers = 1;
};

void PrintTo(const Case &c, std::ostream *out) {
  *out << c.contract;
}

std::vector<Case> cases() {
  const std::vector<Fill> all{Fill::plain, Fill::cancelling, Fill::spread,     Fill::equal,
                              Fill::tiny,  Fill::dominating, Fill::alternating};
  // Where a binary32 operand is rounded to binary16: one of the widest spread overflows.
  const std::vector<Fill> moderate{Fill::plain, Fill::cancelling, Fill::equal,
                                   Fill::tiny,  Fill::dominating, Fill::alternating};
  std::vector<Case> list;
  for (const std::string &storage : Data::get().weightStorages()) {
    const bool quantized = storage[0] == 'q', super = storage.ends_with("_k");
    for (const std::string scale : {"", "_sqrt_n"})
      list.push_back({"embedding_" + storage + scale + "_v0",
                      {{"rows", 4}, {"vocabulary", 7}, {"n", super ? 512 : 96}},
                      all,
                      {}});
    const std::vector<int64_t> widths = super       ? std::vector<int64_t>{256, 2816}
                                        : quantized ? std::vector<int64_t>{32, 672}
                                                    : std::vector<int64_t>{0, 1, 33, 690};
    for (const int64_t k : widths)
      list.push_back({"linear_" + storage + (quantized ? "_f32_v0" : "_v0"),
                      {{"rows", 2}, {"k", k}, {"n", 5}},
                      all,
                      {}});
    const std::string codes = super ? "_i8_b256_v0" : "_i8_b32_v0";
    for (const int64_t blocks : {1, 9, 34})
      if (quantized)
        list.push_back({"linear_" + storage + codes,
                        {{"rows", 2}, {"k", blocks * (super ? 256 : 32)}, {"n", 7}},
                        all,
                        {}});
  }
  for (const int64_t n : {1, 63, 576})
    list.push_back({"rms_norm_f32_lanes64_v0",
                    {{"rows", 3}, {"vectors", n == 63 ? 4 : 1}, {"n", n}},
                    all,
                    {}});
  for (const int64_t n : {1, 63, 576})
    list.push_back({"rms_norm_f32_ggml_v0", {{"rows", 3}, {"vectors", 2}, {"n", n}}, all, {}});
  list.push_back({"rope_table_f32_angle_ggml_v0",
                  {{"rows", 4}, {"rope_dims", 64}},
                  {Fill::plain},
                  {0, 1, 8191, 1 << 24}});
  list.push_back({"rope_split_half_f32_ggml_v0",
                  {{"rows", 3}, {"heads", 3}, {"head_dim", 32}, {"rope_dims", 24}},
                  all,
                  {}});
  for (const std::string gate : {"silu_gate_f32_ggml_v0", "gelu_tanh_gate_f16_ggml_v0"})
    list.push_back({gate, {{"rows", 3}, {"n", 200}}, all, {}});
  list.push_back({"quantize_activation_i8_b32_v0", {{"rows", 3}, {"k", 320}}, all, {}});
  list.push_back({"quantize_activation_i8_b256_v0", {{"rows", 3}, {"k", 1280}}, all, {}});
  for (const std::string codes : {"q8_0", "q8_1", "q8_k"})
    list.push_back(
        {"quantize_activation_" + codes + "_ggml_v0", {{"rows", 3}, {"k", 1280}}, all, {}});
  for (const auto &[id, contract] : Data::get().contracts)
    if (contract.value("block_term", "") == "fp32_mul_scales") // several dots of each block
      for (const int64_t blocks : {1, 9, 34}) {
        const int64_t elements = contract["operands"]["activation"]["storage"] == "q8_k" ? 256 : 32;
        list.push_back({id, {{"rows", 2}, {"k", blocks * elements}, {"n", 7}}, all, {}});
      }
  list.push_back({"rope_table_f64_v0",
                  {{"rows", 4}, {"rope_dims", 64}},
                  {Fill::plain},
                  {0, 1, 8191, 1 << 24}});
  for (const std::string pairing : {"interleaved", "split_half"})
    list.push_back({"rope_" + pairing + "_f32_v0",
                    {{"rows", 3}, {"heads", 3}, {"head_dim", 32}, {"rope_dims", 24}},
                    all,
                    {}});
  for (const auto &[id, contract] : Data::get().contracts) {
    if (contract["family"] == "kv_store")
      list.push_back({id,
                      {{"rows", 6}, {"kv_heads", 2}, {"head_dim", 32}},
                      contract["operands"]["kv"]["storage"] == "f16" ? moderate : all,
                      {0, 1, 2, 3, 4, 5}});
    if (contract["family"] != "attention")
      continue;
    const bool narrows =
        contract["q_compute"] == "fp16_rounded" || contract["k_compute"] == "fp16_rounded";
    list.push_back({id,
                    {{"rows", 3}, {"heads", 2}, {"kv_heads", 1}, {"head_dim", 32}},
                    narrows ? moderate : all,
                    {0, 31, 100}});
    // One key below what the partition begins at, as many, one more, and far more, over ranges of
    // another number than one. A position p sees p + 1 keys.
    const int32_t threshold = contract["partition"].value("threshold", 300);
    list.push_back({id,
                    {{"rows", 4}, {"heads", 1}, {"kv_heads", 1}, {"head_dim", 32}},
                    narrows ? moderate : all,
                    {threshold - 2, threshold - 1, threshold, threshold + 40},
                    3});
  }
  for (const int64_t k : {2, 34, 690})
    list.push_back({"linear_bf16_vdpbf16ps_v0", {{"rows", 2}, {"k", k}, {"n", 5}}, all, {}});
  const Dimensions rowsOf200{{"rows", 3}, {"n", 200}};
  for (const std::string width : {"f32", "f16"}) {
    for (const std::string activation : {"silu", "gelu_tanh", "gelu_erf", "sigmoid", "relu"})
      list.push_back({activation + "_gate_" + width + "_v0", rowsOf200, all, {}});
    for (const std::string activation :
         {"silu", "gelu_tanh", "gelu_erf", "sigmoid", "tanh", "softplus", "relu", "relu_squared"})
      list.push_back({activation + "_activation_" + width + "_v0", rowsOf200, all, {}});
  }
  for (const std::string contract : {"soft_cap_f32_v0", "soft_cap_f16_v0", "residual_f16_v0"})
    list.push_back({contract, rowsOf200, all, {}});
  for (const int64_t n : {1, 63, 64, 65, 576})
    for (const std::string contract :
         {"layer_norm_f32_lanes64_v0", "l2_norm_f32_lanes64_v0", "layer_norm_f16_lanes64_v0",
          "rms_norm_f16_lanes64_v0", "rms_norm_f16_weight_f32_lanes64_v0",
          "l2_norm_f16_lanes64_v0"})
      list.push_back(
          {contract,
           {{"rows", 3}, {"vectors", n == 63 ? 4 : 1}, {"n", n}},
           // Of one element nothing is left beside a large mean: the bound says nothing of it.
           n == 1 && contract.starts_with("layer") ? moderate : all,
           {}});
  for (const std::string out : {"f16", "f32"})
    for (const int64_t k : {1, 33, 690})
      list.push_back({"linear_f16_f16_" + out + "_v0", {{"rows", 2}, {"k", k}, {"n", 5}}, all, {}});
  // Less than a round of the lanes, a rest after one, and none.
  for (const std::string storage : {"f32", "f16", "bf16"})
    for (const int64_t k : {31, 33, 704})
      list.push_back({"linear_" + storage + "_" + storage + "_ggml_v0",
                      {{"rows", 2}, {"k", k}, {"n", 5}},
                      storage == "f16" ? moderate : all,
                      {}});
  list.push_back({"embedding_f16_f16_v0", {{"rows", 4}, {"vocabulary", 7}, {"n", 96}}, all, {}});
  for (const std::string pairing : {"interleaved", "split_half"})
    list.push_back({"rope_" + pairing + "_f16_v0",
                    {{"rows", 3}, {"heads", 3}, {"head_dim", 32}, {"rope_dims", 24}},
                    all,
                    {}});
  for (const std::string scaling : {"none", "linear", "ntk", "yarn", "llama3"})
    for (const int64_t dims : {4, 64, 128})
      list.push_back(
          {"rope_frequencies_" + scaling + "_f64_v0", {{"rope_dims", dims}}, {Fill::plain}, {}});
  list.push_back({"log_probability_f16_v0", {{"rows", 3}, {"vocabulary", 65}}, all, {}});
  list.push_back({"residual_f32_v0", {{"rows", 3}, {"n", 200}}, all, {}});
  for (const int64_t vocabulary : {1, 65, 1000})
    list.push_back({"log_probability_f32_v0", {{"rows", 3}, {"vocabulary", vocabulary}}, all, {}});
  return list;
}

class C8_ReferenceKeepsTheBound : public testing::TestWithParam<Case> {};

TEST_P(C8_ReferenceKeepsTheBound, AgainstMpfr) {
  const Case &c = GetParam();
  double worst = 0;
  int64_t judged = 0;
  std::string fills;
  for (const Fill fill : c.fills) {
    fills += (fills.empty() ? "" : ",") + std::string(nameOf(fill));
    for (uint64_t seed = 1; seed <= 2; ++seed) {
      auto problem = makeProblem(c.contract, c.dimensions,
                                 {.fill = fill,
                                  .seed = seed,
                                  .bias = seed != 2,
                                  .positions = c.positions,
                                  .workers = c.workers});
      problem->evaluate();
      const Judgement judgement = judgementOf(*problem);
      EXPECT_LE(judgement.worst, 1) << nameOf(fill) << ", seed " << seed;
      EXPECT_GT(judgement.judged, judgement.outOfRange) << nameOf(fill) << ", seed " << seed;
      worst = std::max(worst, judgement.worst);
      judged += judgement.judged;
    }
  }
  // For the contract's evidence record.
  RecordProperty("contract", c.contract);
  RecordProperty("worst_error_over_bound", std::to_string(worst));
  RecordProperty("inputs", static_cast<int>(2 * c.fills.size()));
  RecordProperty("elements", static_cast<int>(judged));
  RecordProperty("seeds", "1,2");
  RecordProperty("fills", fills);
  RecordProperty("shape", nameOf(Shape{c.dimensions, c.positions}));
}

std::string caseName(const testing::TestParamInfo<Case> &info) {
  std::string name = info.param.contract;
  for (const auto &[dimension, size] : info.param.dimensions)
    name += "_" + dimension + std::to_string(size);
  return name;
}

INSTANTIATE_TEST_SUITE_P(, C8_ReferenceKeepsTheBound, testing::ValuesIn(cases()), caseName);

// Every contract with arithmetic stands in the list above: one that is added must be, too. What
// copies or chooses is judged by tests of its own (sample_mpfr_test, select_rows_test), which take
// all contracts of the family.
TEST(C8_ReferenceKeepsTheBound_Coverage, EveryContractHasACase) {
  const std::set<std::string> copiesAndChoices{"select_rows", "sample"};
  std::set<std::string> covered;
  for (const Case &c : cases())
    covered.insert(c.contract);
  for (const auto &[id, contract] : Data::get().contracts)
    EXPECT_TRUE(covered.contains(id) || copiesAndChoices.contains(contract["family"]))
        << id << " has no case";
}

// A case whose elements are all out of range, or that has none, has shown nothing.
TEST(C8_BoundSeesAFault, NothingWasJudged) {
  auto problem = makeProblem("residual_f16_v0", {{"rows", 1}, {"n", 4}}, {});
  for (int64_t i = 0; i < 4; ++i)
    for (const char *operand : {"a", "b"})
      reference::writeScalar("f16", problem->buffers.at(operand).base(), i, 65504);
  problem->evaluate();
  const Judgement judgement = judgementOf(*problem);
  EXPECT_EQ(judgement.judged, 0);
  EXPECT_EQ(judgement.outOfRange, 4);
  EXPECT_GT(judgement.worst, 1);
  reference::writeScalar("f16", problem->buffers.at("a").base(), 2, -65504);
  problem->evaluate();
  EXPECT_EQ(judgementOf(*problem).judged, 1);
  EXPECT_EQ(judgementOf(*problem).worst, 0);
}

// Negative controls: the same check sees an op that does something else.

double worstOf(const std::string &contract, const Dimensions &dimensions,
               const std::vector<int32_t> &positions, const std::function<void(Problem &)> &alter) {
  auto problem = makeProblem(contract, dimensions, {Fill::plain, 7, true, positions});
  alter(*problem);
  problem->evaluate();
  return worstErrorOverBound(*problem);
}

TEST(C8_BoundSeesAFault, MissingMinimum) {
  EXPECT_GT(worstOf("linear_q4_1_i8_b32_v0", {{"rows", 1}, {"k", 64}, {"n", 4}}, {},
                    [](Problem &p) { p.contract["block_term"] = "fp32_mul_scale_dot"; }),
            1);
}

TEST(C8_BoundSeesAFault, MissingMinimumBesideTheLanes) {
  for (const std::string pair : {"q4_1_q8_1", "q5_1_q8_1", "q4_k_q8_k", "q5_k_q8_k"})
    EXPECT_GT(
        worstOf("linear_" + pair + "_ggml_v0", {{"rows", 1}, {"k", 512}, {"n", 4}}, {},
                [](Problem &p) { p.contract["block_accumulate"] = "fp32_term_times_lane_dots"; }),
        1)
        << pair;
}

TEST(C8_BoundSeesAFault, AnActivationThatIsNotRounded) {
  EXPECT_GT(worstOf("linear_bf16_vdpbf16ps_v0", {{"rows", 1}, {"k", 512}, {"n", 4}}, {},
                    [](Problem &p) { p.contract["activation_compute"] = "fp32"; }),
            1);
}

TEST(C8_BoundSeesAFault, MissingSubScales) {
  for (const std::string storage : {"q4_k", "q5_k", "q6_k"})
    EXPECT_GT(worstOf("linear_" + storage + "_i8_b256_v0", {{"rows", 1}, {"k", 512}, {"n", 4}}, {},
                      [](Problem &p) { p.contract["product"] = "i32_exact_dot"; }),
              1)
        << storage;
}

TEST(C8_BoundSeesAFault, MinimumAddedThatIsTakenOff) {
  EXPECT_GT(
      worstOf("linear_q4_k_i8_b256_v0", {{"rows", 1}, {"k", 512}, {"n", 4}}, {},
              [](Problem &p) { p.contract["block_term"] = "fp32_fma_scale_dot_minimum_sum"; }),
      1);
}

TEST(C8_BoundSeesAFault, NearlyRightExponential) {
  const auto alter = [](Problem &p) {
    for (auto &function : p.functions["functions"])
      if (function["name"] == "exp_f32_v0")
        function["constants"]["C1"] = "0x1.556492p-3"; // one digit
  };
  for (const std::string activation : {"silu", "gelu_tanh"})
    EXPECT_GT(worstOf(activation + "_gate_f32_v0", {{"rows", 3}, {"n", 300}}, {}, alter), 1);
}

TEST(C8_BoundSeesAFault, OtherPairing) {
  EXPECT_GT(worstOf("rope_interleaved_f32_v0",
                    {{"rows", 1}, {"heads", 1}, {"head_dim", 8}, {"rope_dims", 8}}, {},
                    [](Problem &p) {
                      p.contract["pairing"] = "split_half";
                      p.call.attributes["pairing"] = "split_half";
                    }),
            1);
}

TEST(C8_BoundSeesAFault, OtherEpsilon) {
  auto problem =
      makeProblem("rms_norm_f32_lanes64_v0", {{"rows", 1}, {"vectors", 1}, {"n", 64}}, {});
  problem->evaluate();
  problem->call.numbers["epsilon"] = 1e-6f;
  EXPECT_GT(worstErrorOverBound(*problem), 1);
}

TEST(C8_BoundSeesAFault, MeanNotTakenOff) {
  auto problem =
      makeProblem("layer_norm_f32_lanes64_v0", {{"rows", 1}, {"vectors", 1}, {"n", 64}}, {});
  for (float &x : problem->floats("input"))
    x += 3; // its mean is no longer near zero
  problem->evaluate();
  EXPECT_LE(worstErrorOverBound(*problem), 1);
  const std::vector<float> x = problem->values("input"), w = problem->values("weight");
  double squares = 0;
  for (const float value : x)
    squares += double(value) * value;
  for (size_t i = 0; i < x.size(); ++i)
    problem->floats("out")[i] = static_cast<float>(x[i] / std::sqrt(squares / 64 + 1e-5) * w[i]);
  EXPECT_GT(worstErrorOverBound(*problem), 1);
}

TEST(C8_BoundSeesAFault, BiasLeftOut) {
  auto problem =
      makeProblem("layer_norm_f32_lanes64_v0", {{"rows", 1}, {"vectors", 1}, {"n", 64}}, {});
  const reference::Operand bias = problem->call.operands.at("bias");
  problem->call.operands.erase("bias");
  problem->evaluate();
  problem->call.operands["bias"] = bias;
  EXPECT_GT(worstErrorOverBound(*problem), 1);
}

TEST(C8_BoundSeesAFault, VectorOfZerosNeedsTheEpsilon) {
  auto problem = makeProblem("l2_norm_f32_lanes64_v0", {{"rows", 1}, {"vectors", 1}, {"n", 8}}, {});
  for (float &x : problem->floats("input"))
    x = 1e-8f;
  problem->call.numbers["epsilon"] = 1e-6f;
  problem->evaluate();
  EXPECT_LE(worstErrorOverBound(*problem), 1);
  EXPECT_NEAR(problem->floats("out")[0], 1e-2, 1e-6);
  problem->call.numbers["epsilon"] = 1e-7f;
  EXPECT_GT(worstErrorOverBound(*problem), 1);
}

TEST(C8_BoundSeesAFault, ActivationOfAnotherName) {
  EXPECT_GT(worstOf("gelu_erf_activation_f32_v0", {{"rows", 3}, {"n", 300}}, {},
                    [](Problem &p) { p.contract["function"] = "gelu_tanh_f32_v0"; }),
            1);
  EXPECT_GT(worstOf("relu_gate_f32_v0", {{"rows", 3}, {"n", 300}}, {},
                    [](Problem &p) { p.contract["function"] = "relu_squared_f32_v0"; }),
            1);
}

TEST(C8_BoundSeesAFault, OtherFactorOfTheFrequencies) {
  for (const std::string scaling : {"linear", "ntk", "yarn", "llama3"}) {
    auto problem = makeProblem("rope_frequencies_" + scaling + "_f64_v0", {{"rope_dims", 64}}, {});
    problem->evaluate();
    EXPECT_LE(worstErrorOverBound(*problem), 1) << scaling;
    problem->call.numbers["factor"] = 8 * (1 + 0x1p-23f);
    EXPECT_GT(worstErrorOverBound(*problem), 1) << scaling;
  }
}

TEST(C8_BoundSeesAFault, OneFrequencyOfTheOtherNeighbour) {
  auto problem = makeProblem("rope_frequencies_none_f64_v0", {{"rope_dims", 64}}, {});
  problem->evaluate();
  std::byte *out = problem->buffers.at("out").base();
  reference::writeF64(out, 7, std::nextafter(reference::readF64(out, 7), 1));
  EXPECT_GT(worstErrorOverBound(*problem), 1);
}

TEST(C8_BoundSeesAFault, OtherCap) {
  auto problem = makeProblem("soft_cap_f32_v0", {{"rows", 1}, {"n", 8}}, {});
  problem->evaluate();
  problem->call.numbers["cap"] = 50;
  EXPECT_GT(worstErrorOverBound(*problem), 1);
}

// An intermediate that is rounded to binary16, too, is seen through the rounding of the result.
TEST(C8_BoundSeesAFault, SumKeptInBinary16) {
  auto problem = makeProblem("linear_f16_f16_f16_v0", {{"rows", 1}, {"k", 256}, {"n", 8}}, {});
  problem->evaluate();
  EXPECT_LE(worstErrorOverBound(*problem), 1);
  const std::vector<float> x = problem->values("activation"), w = problem->values("weight");
  const std::vector<float> bias = problem->values("bias");
  const std::span<std::byte> out = problem->buffers.at("out").bytes();
  for (int64_t column = 0; column < 8; ++column) {
    reference::writeScalar("f16", out.data(), column, 0);
    for (int64_t i = 0; i <= 256; ++i) {
      const float sum = reference::readScalar("f16", out.data(), column);
      const float term = i < 256 ? x[i] * w[column * 256 + i] : bias[column];
      reference::writeScalar("f16", out.data(), column, sum + term);
    }
  }
  EXPECT_GT(worstErrorOverBound(*problem), 1);
}

// The rounding of an activation when it is read is part of the op: without it the result is far
// off.
TEST(C8_BoundSeesAFault, ActivationNotRounded) {
  for (const std::string storage : {"f16", "bf16"})
    EXPECT_GT(worstOf("linear_" + storage + "_" + storage + "_ggml_v0",
                      {{"rows", 1}, {"k", 64}, {"n", 4}}, {},
                      [](Problem &p) { p.contract["activation_compute"] = "fp32"; }),
              1)
        << storage;
}

TEST(C8_BoundSeesAFault, OneElementDropped) {
  auto problem = makeProblem("linear_f32_v0", {{"rows", 1}, {"k", 33}, {"n", 3}}, {});
  const float last = problem->floats("activation")[32];
  problem->floats("activation")[32] = 0;
  problem->evaluate();
  problem->floats("activation")[32] = last;
  EXPECT_GT(worstErrorOverBound(*problem), 1);
}

TEST(C8_BoundSeesAFault, NaN) {
  auto problem = makeProblem("residual_f32_v0", {{"rows", 1}, {"n", 3}}, {});
  problem->evaluate();
  problem->floats("out")[1] = std::nanf("");
  EXPECT_GT(worstErrorOverBound(*problem), 1);
}

} // namespace
} // namespace writ::test
