//===- GgmlCases.cpp - the ops of the `ggml` profile, beside ggml's own ----===//
#include "tests/conformance/GgmlBuilder.h"

#include "ir/Reference/Storage.h"

#include <algorithm>
#include <cstring>

namespace writ::test {
namespace {

/// Weight storage and the codes of its activations.
struct Pair {
  std::string weight, codes;
};
const std::vector<Pair> kPairs{{"q4_0", "q8_0"}, {"q4_1", "q8_1"}, {"q5_0", "q8_0"},
                               {"q5_1", "q8_1"}, {"q8_0", "q8_0"}, {"q4_k", "q8_k"},
                               {"q5_k", "q8_k"}, {"q6_k", "q8_k"}};

void addLinear(std::vector<GgmlCase> &cases) {
  for (const Pair &pair : kPairs) {
    const std::string contract = "linear_" + pair.weight + "_" + pair.codes + "_ggml_v0";
    const bool super = pair.codes == "q8_k";
    for (const int64_t k :
         super ? std::vector<int64_t>{256, 512, 2816} : std::vector<int64_t>{256, 288, 576, 2816})
      for (const Fill fill : kAllFills)
        cases.push_back(simpleCase(contract,
                                   {{"rows", k == 512 || k == 288 ? 9 : 2}, {"k", k}, {"n", 3}},
                                   fill, "mul_mat", {"weight", "activation"}));
  }
}

/// Rows that fill the lanes, leave a rest, and are shorter than one round of them; two sizes of
/// batch.
void addFloatLinear(std::vector<GgmlCase> &cases) {
  for (const std::string storage : {"f32", "f16", "bf16"})
    for (const int64_t k : {29, 32, 77, 576, 2816})
      for (const Fill fill : kAllFills)
        cases.push_back(simpleCase("linear_" + storage + "_" + storage + "_ggml_v0",
                                   {{"rows", k == 77 ? 9 : 2}, {"k", k}, {"n", 3}}, fill, "mul_mat",
                                   {"weight", "activation"}));
}

/// Blocks of zeros, of a few tiny values, and of the largest ones among those of `fill`.
void addEdges(std::span<float> x) {
  constexpr float values[] = {0.0f,  -0.0f,  1e-38f, -1e-38f, 0x1p-149f, 0x1p-120f,
                              3e38f, -3e38f, 8e6f,   9e6f,    6e-8f,     1e-5f};
  constexpr size_t kBlock = 256;
  size_t which = 0;
  for (size_t at = kBlock; at + kBlock <= x.size(); at += 2 * kBlock, ++which)
    for (size_t i = 0; i < kBlock; ++i)
      x[at + i] = i % 3 == 0 ? values[which % std::size(values)] : 0.0f;
}

void addQuantize(std::vector<GgmlCase> &cases) {
  for (const std::string codes : {"q8_0", "q8_1", "q8_k"}) {
    const std::string contract = "quantize_activation_" + codes + "_ggml_v0";
    for (const Fill fill : kFiniteFills)
      cases.push_back(simpleCase(contract, {{"rows", 1}, {"k", 512}}, fill, "quantize", {"input"},
                                 {{"to", ggmlType(codes)}}));
    const std::shared_ptr<Problem> problem =
        makeProblem(contract, {{"rows", 1}, {"k", 6144}}, {Fill::plain, 5, false, {}});
    addEdges(problem->floats("input"));
    GgmlBuilder builder;
    builder.result.name = contract + ".edges";
    builder.result.contract = contract;
    builder.result.op = {{"op", "quantize"}, {"parameters", {{"to", ggmlType(codes)}}}};
    builder.operand(*problem, "input");
    builder.result.storage = codes;
    builder.result.width = 6144;
    builder.result.problem = problem;
    builder.result.evaluate = [problem] { return outputOf(*problem); };
    cases.push_back(std::move(builder.result));
  }
}

/// ggml's product of a quantized weight and f32 activations: quantize, then linear.
void addChains(std::vector<GgmlCase> &cases) {
  for (const Pair &pair : kPairs) {
    const int64_t rows = 10, k = 768, n = 2; // from 8 rows on ggml could take its tiled path
    const std::string contract = "linear_" + pair.weight + "_" + pair.codes + "_ggml_v0";
    const std::shared_ptr<Problem> codes =
        makeProblem("quantize_activation_" + pair.codes + "_ggml_v0", {{"rows", rows}, {"k", k}},
                    {Fill::plain, 3, false, {}});
    const std::shared_ptr<Problem> linear =
        makeProblem(contract, {{"rows", rows}, {"k", k}, {"n", n}}, {Fill::plain, 4, false, {}});
    GgmlBuilder builder;
    builder.result.name = contract + ".after_quantize";
    builder.result.contract = contract;
    builder.result.through = {codes->contract["id"]};
    builder.result.op = {{"op", "mul_mat"}, {"threads", 2}};
    builder.operand(*linear, "weight");
    builder.operand(*codes, "input");
    builder.result.storage = "f32";
    builder.result.width = n;
    builder.result.problem = linear;
    builder.result.evaluate = [codes, linear] {
      const std::vector<std::byte> quantized = outputOf(*codes);
      std::copy(quantized.begin(), quantized.end(), linear->buffers.at("activation").base());
      return outputOf(*linear);
    };
    cases.push_back(std::move(builder.result));
  }
}

} // namespace

GgmlCase simpleCase(const std::string &contract, const Dimensions &dimensions, Fill fill,
                    const std::string &op, const std::vector<std::string> &operands,
                    const Json &parameters) {
  const std::shared_ptr<Problem> problem = makeProblem(contract, dimensions, {fill, 11, false, {}});
  GgmlBuilder builder;
  builder.result.name = nameOfCase(contract, dimensions, fill);
  builder.result.contract = contract;
  builder.result.op = {{"op", op}, {"parameters", parameters}};
  for (const std::string &name : operands)
    builder.operand(*problem, name);
  const reference::Operand &out = problem->call.operands.at("out");
  builder.result.storage = out.storage;
  builder.result.width = out.shape.back();
  builder.result.problem = problem;
  builder.result.evaluate = [problem] { return outputOf(*problem); };
  return std::move(builder.result);
}

void addGgmlLinear(std::vector<GgmlCase> &cases) {
  addQuantize(cases);
  addLinear(cases);
  addFloatLinear(cases);
  addChains(cases);
}

std::vector<GgmlCase> ggmlCases() {
  std::vector<GgmlCase> cases;
  addGgmlLinear(cases);
  addGgmlPointwise(cases);
  addGgmlPositions(cases);
  return cases;
}

std::vector<std::byte> canonical(std::vector<std::byte> bytes, const std::string &storage,
                                 int64_t width) {
  auto half = [&](size_t at) {
    uint16_t bits;
    std::memcpy(&bits, bytes.data() + at, 2);
    if ((bits & 0x7fff) > 0x7c00)
      bits = 0x7e00;
    std::memcpy(bytes.data() + at, &bits, 2);
  };
  auto single = [&](size_t at) {
    uint32_t bits;
    std::memcpy(&bits, bytes.data() + at, 4);
    if ((bits & 0x7fffffff) > 0x7f800000)
      bits = 0x7fc00000;
    std::memcpy(bytes.data() + at, &bits, 4);
  };
  if (storage == "f32" || storage == "f16") {
    const size_t element = storage == "f32" ? 4 : 2;
    for (size_t at = 0; at + element <= bytes.size(); at += element)
      element == 4 ? single(at) : half(at);
    return bytes;
  }
  const reference::CodesLayout &layout = reference::codesLayout(storage);
  const auto stride =
      static_cast<size_t>(reference::rowBytes(storage, width) / (width / layout.block));
  for (size_t at = 0; at + stride <= bytes.size(); at += stride) {
    layout.halfScale ? half(at) : single(at);
    if (layout.hasValueSum)
      half(at + static_cast<size_t>(layout.sumOffset));
  }
  return bytes;
}

} // namespace writ::test
