//===- GgmlPositions.cpp - RoPE and attention beside ggml -------------------===//
#include "ir/Reference/Bound.h"
#include "tests/conformance/GgmlBuilder.h"

#include "ir/Reference/Storage.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace writ::test {
namespace {

using reference::evaluateBound;

/// ggml makes the cosines itself: the table, then the rotation.
void addRope(std::vector<GgmlCase> &cases, const std::string &contract, int mode, float base,
             int64_t dim, int64_t ropeDims) {
  const std::vector<int32_t> positions{0, 1, 31, 600, 8191, 30000};
  const auto rows = static_cast<int64_t>(positions.size());
  const std::shared_ptr<Problem> table =
      makeProblem("rope_table_f32_angle_ggml_v0", {{"rows", rows}, {"rope_dims", ropeDims}},
                  {Fill::plain, 1, false, positions});
  std::byte *frequencies = table->buffers.at("frequencies").base();
  for (int64_t i = 0; i < ropeDims / 2; ++i) {
    const double frequency = std::pow(double(base), -2.0 * double(i) / double(ropeDims));
    std::memcpy(frequencies + 8 * i, &frequency, 8);
  }
  const Dimensions dimensions{
      {"rows", rows}, {"heads", 2}, {"head_dim", dim}, {"rope_dims", ropeDims}};
  const std::shared_ptr<Problem> rope =
      makeProblem(contract, dimensions, {Fill::plain, 11, false, positions});
  GgmlBuilder builder;
  GgmlCase &one = builder.result;
  one.name = nameOfCase(contract, dimensions, Fill::plain);
  one.contract = contract;
  one.isExact = false; // cosf, sinf and powf are the C library's
  one.op = {{"op", "rope"},
            {"parameters", {{"mode", mode}, {"n_dims", ropeDims}, {"freq_base", base}}}};
  builder.input("f32", {rows, 2, dim}, rope->buffers.at("input").bytes());
  builder.input("i32", {rows}, std::as_bytes(std::span(positions)));
  one.storage = "f32";
  one.width = 2 * dim;
  one.problem = rope;
  one.through = {table->contract["id"]};
  // Both multiply the same angles, by the contract's word for them; so of its table's bound what
  // the function is off counts, and as much as an ulp of the C library's. Then each is within the
  // rotation's bound.
  one.tolerance = [rope, table](size_t i, float) {
    const int64_t dims = rope->call.dimensions.at("rope_dims"), pairs = dims / 2;
    const int64_t dim = rope->call.dimensions.at("head_dim");
    const bool interleaved = rope->contract["pairing"] == "interleaved";
    const auto at = static_cast<int64_t>(i) % dim, head = static_cast<int64_t>(i) - at;
    if (at >= dims) // copied
      return 0.0;
    const int64_t pair = interleaved ? at / 2 : at % pairs;
    const int64_t first = head + (interleaved ? 2 * pair : pair);
    const int64_t second = first + (interleaved ? 1 : pairs);
    const double x0 = std::fabs(rope->element("input", first));
    const double x1 = std::fabs(rope->element("input", second));
    const int64_t row = static_cast<int64_t>(i) / (2 * dim) * dims;
    const double c = std::fabs(rope->element("table", row + pair));
    const double s = std::fabs(rope->element("table", row + pairs + pair));
    const bool isFirst = at == first - head;
    const double ofFunction =
        evaluateBound(table->contract, {{"abs_angle", 0}, {"pairs", double(pairs)}}) + 0x1p-24;
    return 2 * evaluateBound(rope->contract, {{"abs_first", x0 * (isFirst ? c : s)},
                                              {"abs_second", x1 * (isFirst ? s : c)}}) +
           (x0 + x1) * ofFunction;
  };
  one.evaluate = [table, rope] {
    const std::vector<std::byte> made = outputOf(*table);
    std::copy(made.begin(), made.end(), rope->buffers.at("table").base());
    return outputOf(*rope);
  };
  cases.push_back(std::move(one));
}

/// The keys or values of one sequence with the heads outside: [kv_heads][keys][dim], or
/// [kv_heads][dim][keys].
std::vector<std::byte> byHead(const std::vector<std::byte> &plane, int64_t heads, int64_t dim,
                              bool transposed) {
  const int64_t keys = static_cast<int64_t>(plane.size()) / (2 * heads * dim);
  std::vector<std::byte> result(plane.size());
  for (int64_t key = 0; key < keys; ++key)
    for (int64_t head = 0; head < heads; ++head)
      for (int64_t i = 0; i < dim; ++i) {
        const int64_t to =
            transposed ? (head * dim + i) * keys + key : (head * keys + key) * dim + i;
        std::memcpy(result.data() + 2 * to, plane.data() + 2 * ((key * heads + head) * dim + i), 2);
      }
  return result;
}

/// The keys that the query of a problem of one row sees: scores' weights, of the largest one.
std::vector<double> weightsOf(const Problem &problem, int64_t head, int64_t keys) {
  const int64_t dim = problem.call.dimensions.at("head_dim");
  const int64_t kvHeads = problem.kv.kvHeads;
  const int64_t kvHead = head / (problem.call.dimensions.at("heads") / kvHeads);
  std::vector<double> weights;
  for (int64_t key = 0; key < keys; ++key) {
    double score = 0;
    for (int64_t i = 0; i < dim; ++i)
      score += double(problem.element("q", head * dim + i)) *
               reference::readScalar("f16", problem.kv.sequences[0].k.data(),
                                     (key * kvHeads + kvHead) * dim + i);
    weights.push_back(score * problem.call.numbers.at("scale"));
  }
  const double largest = *std::max_element(weights.begin(), weights.end());
  for (double &weight : weights)
    weight = std::exp(weight - largest);
  return weights;
}

/// How far sums in binary16, key by key, may be from the exact value: one rounding of each term and
/// one of each partial sum, none larger than half an ulp of 2^-10.
std::vector<double> runningErrors(const Problem &problem, int64_t keys) {
  const int64_t heads = problem.call.dimensions.at("heads");
  const int64_t dim = problem.call.dimensions.at("head_dim"), kvHeads = problem.kv.kvHeads;
  std::vector<double> errors;
  for (int64_t head = 0; head < heads; ++head) {
    const std::vector<double> weights = weightsOf(problem, head, keys);
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (int64_t i = 0; i < dim; ++i) {
      double sum = 0, error = 0;
      for (int64_t key = 0; key < keys; ++key) {
        const int64_t at = (key * kvHeads + head / (heads / kvHeads)) * dim + i;
        const double term = weights[static_cast<size_t>(key)] *
                            reference::readScalar("f16", problem.kv.sequences[0].v.data(), at);
        sum += term;
        error += std::fabs(term) + std::fabs(sum);
      }
      errors.push_back(0x1p-11 * error / total);
    }
  }
  return errors;
}

/// One query over `keys` positions, by ggml's products and soft_max over as many cells as llama.cpp
/// asks for, those without a key, or before the window, being masked; or by its flash attention.
/// Where the query is scaled it is by no power of two, and every other element is so small that
/// binary16 keeps only some of its bits.
void addAttention(std::vector<GgmlCase> &cases, int32_t keys, int64_t dim, bool flash,
                  int64_t window = 0, bool scalesQuery = false) {
  const std::string contract = std::string("attention_f16_kv_") +
                               (scalesQuery ? "scaled_query_" : "") +
                               (window > 0 ? "window_" : "") + "two_pass_ggml_v0";
  const int64_t heads = 4, kvHeads = 2, cells = (keys + 255) / 256 * 256;
  const Dimensions dimensions{
      {"rows", 1}, {"heads", heads}, {"kv_heads", kvHeads}, {"head_dim", dim}};
  const std::shared_ptr<Problem> problem =
      makeProblem(contract, dimensions, {Fill::plain, 11, false, {keys - 1}, window});
  reference::KvState::Sequence sequence = problem->kv.sequences.at(0);
  for (auto *plane : {&sequence.k, &sequence.v})
    plane->resize(
        static_cast<size_t>(2 * cells * kvHeads * dim)); // cells that hold nothing are zero
  std::vector<float> mask(static_cast<size_t>(cells), -std::numeric_limits<float>::infinity());
  const int64_t first = window > 0 ? std::max<int64_t>(0, keys - window) : 0;
  std::fill(mask.begin() + first, mask.begin() + keys, 0.0f);
  GgmlBuilder builder;
  GgmlCase &one = builder.result;
  one.name = contract + ".head_dim" + std::to_string(dim) + ".keys" + std::to_string(keys) +
             (window > 0 ? ".window" + std::to_string(window) : "") +
             (flash ? ".flash" : ".soft_max");
  one.contract = contract;
  one.isExact = !flash; // which is another arithmetic: sums in binary16, rescaled for each key
  one.op = {{"op", flash ? "flash_attn" : "attention"},
            {"parameters", {{"scale", problem->call.numbers.at("scale")}}}};
  if (scalesQuery) {
    problem->call.numbers["scale"] = 1 / std::sqrt(168.0f);
    one.op["parameters"] = {{"scale", 1}, {"query_scale", problem->call.numbers.at("scale")}};
    for (int64_t i = 0; i < heads * dim; ++i)
      reference::writeScalar("f32", problem->buffers.at("q").base(), i,
                             problem->element("q", i) * (i % 2 == 0 ? 0x1p-16f : 1.0f));
  }
  builder.input("f32", {heads, 1, dim}, problem->buffers.at("q").bytes());
  builder.input("f16", {kvHeads, cells, dim}, byHead(sequence.k, kvHeads, dim, false));
  if (flash)
    builder.input("f16", {kvHeads, cells, dim}, byHead(sequence.v, kvHeads, dim, false));
  else
    builder.input("f16", {kvHeads, dim, cells}, byHead(sequence.v, kvHeads, dim, true));
  if (!flash)
    builder.input("f32", {1, cells}, std::as_bytes(std::span(mask)));
  one.storage = "f32";
  one.width = heads * dim;
  one.problem = problem;
  if (flash)
    one.tolerance = [errors = runningErrors(*problem, keys)](size_t i, float) { return errors[i]; };
  one.evaluate = [problem] { return outputOf(*problem); };
  cases.push_back(std::move(one));
}

} // namespace

void addGgmlPositions(std::vector<GgmlCase> &cases) {
  addRope(cases, "rope_interleaved_f32_v0", 0, 100000, 64, 64);
  addRope(cases, "rope_split_half_f32_ggml_v0", 2, 1000000, 256, 256);
  addRope(cases, "rope_split_half_f32_ggml_v0", 2, 10000, 32, 16);
  for (const int32_t keys : {1, 31, 256, 300, 777})
    addAttention(cases, keys, 64, false);
  addAttention(cases, 257, 256, false);
  for (const int32_t keys : {20, 300, 777}) // fewer than the window, and more
    for (const int64_t window : {32, 257})
      addAttention(cases, keys, 64, false, window);
  addAttention(cases, 300, 64, false, 0, true);
  addAttention(cases, 257, 256, false, 0, true);
  addAttention(cases, 300, 64, false, 32, true);
  for (const int32_t keys : {256, 512}) // as many as there are cells: no mask
    addAttention(cases, keys, 64, true);
}

} // namespace writ::test
