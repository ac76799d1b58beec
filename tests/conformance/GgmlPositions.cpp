//===- GgmlPositions.cpp - RoPE and attention beside ggml -------------------===//
#include "tests/conformance/GgmlBuilder.h"

#include "ir/Reference/Storage.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace writ::test {
namespace {

float largestOf(std::span<const float> values) {
  float largest = 0;
  for (const float value : values)
    largest = std::max(largest, std::fabs(value));
  return largest;
}

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
  const double largest = largestOf(rope->floats("input"));
  one.tolerance = [largest](size_t, float) { // of two products: the factors' ulp and the roundings
    return 8 * 0x1p-24 * largest;
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

/// One query over `keys` positions, by ggml's products and soft_max over as many cells as llama.cpp
/// asks for, those without a key being masked; or by its flash attention.
void addAttention(std::vector<GgmlCase> &cases, int32_t keys, int64_t dim, bool flash) {
  const std::string contract = "attention_f16_kv_two_pass_ggml_v0";
  const int64_t heads = 4, kvHeads = 2, cells = (keys + 255) / 256 * 256;
  const Dimensions dimensions{
      {"rows", 1}, {"heads", heads}, {"kv_heads", kvHeads}, {"head_dim", dim}};
  const std::shared_ptr<Problem> problem =
      makeProblem(contract, dimensions, {Fill::plain, 11, false, {keys - 1}});
  reference::KvState::Sequence sequence = problem->kv.sequences.at(0);
  for (auto *plane : {&sequence.k, &sequence.v})
    plane->resize(
        static_cast<size_t>(2 * cells * kvHeads * dim)); // cells that hold nothing are zero
  std::vector<float> mask(static_cast<size_t>(cells), -std::numeric_limits<float>::infinity());
  std::fill_n(mask.begin(), keys, 0.0f);
  GgmlBuilder builder;
  GgmlCase &one = builder.result;
  one.name = contract + ".head_dim" + std::to_string(dim) + ".keys" + std::to_string(keys) +
             (flash ? ".flash" : ".soft_max");
  one.contract = contract;
  one.isExact = !flash; // which is another arithmetic: sums in binary16, rescaled for each key
  one.op = {{"op", flash ? "flash_attn" : "attention"},
            {"parameters", {{"scale", problem->call.numbers.at("scale")}}}};
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
  double largest = 0; // |v|
  for (size_t i = 0; i < sequence.v.size() / 2; ++i)
    largest = std::max(
        largest, std::fabs(double(reference::readScalar("f16", sequence.v.data(), int64_t(i)))));
  one.tolerance = [largest, keys](size_t, float) { return double(keys) * 0x1p-11 * largest; };
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
  for (const int32_t keys : {256, 512}) // as many as there are cells: no mask
    addAttention(cases, keys, 64, true);
}

} // namespace writ::test
