//===- GgmlPointwise.cpp - norm, gates, embedding and the like beside ggml --===//
#include "tests/conformance/GgmlBuilder.h"

#include "ir/Reference/Storage.h"

#include <cmath>

namespace writ::test {
namespace {

void addNorms(std::vector<GgmlCase> &cases) {
  const std::string contract = "rms_norm_f32_ggml_v0";
  const Json parameters{{"eps", 1e-5f}};
  for (const int64_t n : {64, 576, 641})
    for (const Fill fill : kAllFills)
      cases.push_back(simpleCase(contract, {{"rows", 3}, {"vectors", 1}, {"n", n}}, fill,
                                 "rms_norm_mul", {"input", "weight"}, parameters));
}

/// Arguments over the range in which the exponential has a value, up = 1.
void fillRange(Problem &problem, float first, float last) {
  std::span<float> gate = problem.floats("gate"), up = problem.floats("up");
  for (size_t i = 0; i < gate.size(); ++i) {
    gate[i] = first + (last - first) * static_cast<float>(i) / static_cast<float>(gate.size());
    up[i] = 1;
  }
}

GgmlCase gateOverRange(const std::string &contract, const std::string &op, float first, float last,
                       const std::string &name = "range") {
  const Dimensions dimensions{{"rows", 1}, {"n", 512}};
  GgmlCase one = simpleCase(contract, dimensions, Fill::plain, op, {"gate", "up"});
  fillRange(*one.problem, first, last);
  one.name = contract + "." + name;
  one.bytes.clear();
  one.op["inputs"] = Json::array();
  GgmlBuilder builder{std::move(one)};
  builder.operand(*builder.result.problem, "gate");
  builder.operand(*builder.result.problem, "up");
  return std::move(builder.result);
}

/// Equal, but for the sign of a zero: for arguments of -10 and less ggml writes +0 instead of 0 *
/// up.
void addGeluTolerance(GgmlCase &one) {
  one.isExact = false; // libm fills the table, and another one may fill it otherwise
  one.tolerance = [](size_t, float) { return 0x1p-150; };
}

void addGates(std::vector<GgmlCase> &cases) {
  const Dimensions dimensions{{"rows", 3}, {"n", 200}};
  const std::string silu = "silu_gate_f32_ggml_v0", gelu = "gelu_tanh_gate_f16_ggml_v0";
  for (const Fill fill : kAllFills)
    cases.push_back(simpleCase(silu, dimensions, fill, "swiglu", {"gate", "up"}));
  cases.push_back(gateOverRange(silu, "swiglu", -112, 112));
  for (const Fill fill : kFiniteFills) {
    cases.push_back(simpleCase(gelu, dimensions, fill, "geglu", {"gate", "up"}));
    addGeluTolerance(cases.back());
  }
  cases.push_back(gateOverRange(gelu, "geglu", -11, 11));
  addGeluTolerance(cases.back());
  // Every binary16 about the one whose result is nearest to a tie.
  cases.push_back(gateOverRange(gelu, "geglu", -0.375f, -0.3125f, "near_a_tie"));
  addGeluTolerance(cases.back());
}

/// Rows of a matrix by an index that `rows` of the problem holds.
GgmlCase gathered(const std::string &contract, const Dimensions &dimensions, Fill fill,
                  const std::string &operand, const std::vector<int32_t> &indices,
                  const std::string &op = "get_rows", const Json &parameters = Json::object()) {
  GgmlBuilder builder{simpleCase(contract, dimensions, fill, op, {operand}, parameters)};
  builder.input("i32", {static_cast<int64_t>(indices.size())}, std::as_bytes(std::span(indices)));
  return std::move(builder.result);
}

void addEmbeddings(std::vector<GgmlCase> &cases) {
  for (const std::string storage :
       {"q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q4_k", "q5_k", "q6_k", "f32", "f16", "bf16"}) {
    const int64_t n = storage.ends_with("_k") ? 256 : 64;
    for (const Fill fill : {Fill::plain, Fill::spread, Fill::tiny}) {
      const std::string contract = "embedding_" + storage + "_v0";
      const Dimensions dimensions{{"rows", 2}, {"vocabulary", 5}, {"n", n}};
      const auto problem = makeProblem(contract, dimensions, {fill, 11, false, {}});
      cases.push_back(gathered(contract, dimensions, fill, "weight", problem->call.rows.token));
    }
  }
  // The scale of a family that has one; its root is no power of two.
  for (const std::string storage :
       {"q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q4_k", "q5_k", "q6_k", "f32", "f16", "bf16"}) {
    const int64_t n = storage.ends_with("_k") ? 512 : 96;
    for (const Fill fill : {Fill::plain, Fill::tiny}) {
      const std::string contract = "embedding_" + storage + "_sqrt_n_v0";
      const Dimensions dimensions{{"rows", 2}, {"vocabulary", 5}, {"n", n}};
      const auto problem = makeProblem(contract, dimensions, {fill, 11, false, {}});
      cases.push_back(gathered(contract, dimensions, fill, "weight", problem->call.rows.token,
                               "get_rows_scale", {{"s", std::sqrt(static_cast<float>(n))}}));
    }
  }
}

void addCopies(std::vector<GgmlCase> &cases) {
  for (const Fill fill : kAllFills)
    cases.push_back(
        simpleCase("residual_f32_v0", {{"rows", 3}, {"n", 200}}, fill, "add", {"a", "b"}));
  const Dimensions selected{{"rows", 3}, {"n", 40}};
  const auto rows = makeProblem("select_rows_f32_v0", selected, {Fill::plain, 11, false, {}});
  cases.push_back(
      gathered("select_rows_f32_v0", selected, Fill::plain, "input", rows->call.rows.outputRow));

  for (const Fill fill : kAllFills) {
    const Dimensions dimensions{{"rows", 3}, {"kv_heads", 2}, {"head_dim", 64}};
    const std::shared_ptr<Problem> problem =
        makeProblem("kv_store_f16_v0", dimensions, {fill, 11, false, {0}});
    GgmlBuilder builder;
    builder.result.name = nameOfCase("kv_store_f16_v0", dimensions, fill);
    builder.result.contract = "kv_store_f16_v0";
    builder.result.op = {{"op", "cast"}, {"parameters", {{"to", "f16"}}}};
    builder.operand(*problem, "k");
    builder.result.storage = "f16";
    builder.result.width = 128;
    builder.result.problem = problem;
    builder.result.evaluate = [problem] { // row r is position 0 of sequence r
      problem->evaluate();
      std::vector<std::byte> planes;
      for (const auto &sequence : problem->kv.sequences)
        planes.insert(planes.end(), sequence.k.begin(), sequence.k.end());
      return planes;
    };
    cases.push_back(std::move(builder.result));
  }
}

} // namespace

void addGgmlPointwise(std::vector<GgmlCase> &cases) {
  addNorms(cases);
  addGates(cases);
  addEmbeddings(cases);
  addCopies(cases);
}

} // namespace writ::test
