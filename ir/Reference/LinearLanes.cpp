//===- LinearLanes.cpp - y = W x + b, several dots of each block ----------===//
#include "ir/Reference/Fields.h"
#include "ir/Reference/Linear.h"
#include "ir/Reference/Reduction.h"

#include <cmath>

namespace writ::reference {
namespace {

constexpr int64_t kRun = 32;    ///< elements over which the lanes take turns
constexpr int64_t kOfLane = 4;  ///< neighbours of one lane in a run
constexpr int64_t kOffset = 32; ///< what makes the codes of i32_..._offset32 unsigned

enum class Minimums { none, addedSum, negatedSum, negatedLanes };

/// The dot of one lane.
float laneDot(LaneDots dots, const Block &weight, const ActivationRow &activation, int64_t b,
              int64_t lane) {
  const auto elements = static_cast<int64_t>(weight.code.size());
  int32_t dot = 0;
  for (int64_t e = 0; e < elements; ++e) {
    const int32_t code = activation.code(b * elements + e);
    const int32_t scale = dots == LaneDots::plain ? 1 : weight.subScale[e / weight.subElements()];
    const int32_t offset = dots == LaneDots::scaledWithOffset ? kOffset : 0;
    if (e % kRun / kOfLane == lane)
      dot += scale * (weight.code[e] + offset) * code;
    if (e / kRun == lane)
      dot -= scale * offset * code;
  }
  return static_cast<float>(dot);
}

/// The sub-blocks [begin, end): the sum of each one's minimum times its activation codes.
float minimumDot(const Block &weight, const ActivationRow &activation, int64_t b, int64_t begin,
                 int64_t end) {
  const int64_t size = weight.subElements();
  const auto elements = static_cast<int64_t>(weight.code.size());
  int32_t dot = 0;
  for (int64_t e = begin * size; e < end * size; ++e)
    dot += weight.subMinimum[e / size] * activation.code(b * elements + e);
  return static_cast<float>(dot);
}

/// What is summed beside the lanes.
float minimumSum(Minimums form, const std::vector<Block> &weight, const ActivationRow &activation) {
  float sum = 0;
  float lane[4] = {0, 0, 0, 0};
  for (size_t b = 0; b < weight.size(); ++b) {
    const Block &block = weight[b];
    const auto index = static_cast<int64_t>(b);
    const auto subBlocks = static_cast<int64_t>(block.subScale.size());
    if (form == Minimums::addedSum) {
      const float product = block.minimum * activation.valueSum(index);
      sum = sum + product;
      continue;
    }
    const float factor = -(activation.scale(index) * block.minimum);
    if (form == Minimums::negatedSum) {
      const float product = factor * minimumDot(block, activation, index, 0, subBlocks);
      sum = sum + product;
      continue;
    }
    for (int64_t p = 0; p < 4; ++p)
      lane[p] = std::fma(factor, minimumDot(block, activation, index, 2 * p, 2 * p + 2), lane[p]);
  }
  if (form == Minimums::negatedLanes) {
    const float even = lane[0] + lane[2], odd = lane[1] + lane[3];
    sum = even + odd;
  }
  return sum;
}

/// The storages have what is summed beside the lanes.
void requireMinimums(Fields &fields, Minimums form) {
  const std::string &weight = fields.storage("weight"), &codes = fields.storage("activation");
  if (form == Minimums::addedSum && !codesLayout(codes).hasValueSum)
    fields.fail("block_accumulate", "field 'block_accumulate' is '" +
                                        fields.word("block_accumulate") + "', but codes of '" +
                                        codes + "' hold no sum of values");
  const std::vector<std::byte> zeros(static_cast<size_t>(rowBytes(weight, blockElements(weight))));
  if (const size_t subBlocks = readBlock(weight, zeros.data(), 0).subScale.size();
      form == Minimums::negatedLanes && subBlocks != 8)
    fields.fail("block_accumulate", "field 'block_accumulate' is '" +
                                        fields.word("block_accumulate") + "', but a block of '" +
                                        weight + "' has " + std::to_string(subBlocks) +
                                        " minimums, not 8");
}

} // namespace

void evaluateLaneDots(Call &call, Fields &fields, LaneDots dots) {
  const auto minimums = static_cast<Minimums>(fields.choose(
      "block_accumulate", {"fp32_term_times_lane_dots", "fp32_term_times_lane_dots_and_minimum_sum",
                           "fp32_term_times_lane_dots_and_negated_minimum_sum",
                           "fp32_term_times_lane_dots_and_negated_minimum_lanes4"}));
  fields.require("activation_compute", "integer_codes");
  fields.require("weight_compute", "integer_codes");
  fields.require("decode", "none");
  fields.require("block_term", "fp32_mul_scales");
  const Reduction reduction(call, fields, "reduction", Summed::laneDots);
  fields.require("bias", "fp32_add_last");
  fields.requireIeee();
  fields.requireScalars({"bias", "out"});
  const int64_t elements = requireBlocks(fields);
  if (reduction.partialCount() != kRun / kOfLane)
    fields.fail("reduction", "field 'reduction' is '" + fields.word("reduction") + "' of " +
                                 std::to_string(reduction.partialCount()) +
                                 " lanes; a block's dots have " + std::to_string(kRun / kOfLane));
  requireMinimums(fields, minimums);
  if (!fields.checkAllRead())
    return;

  const Linear linear(call);
  const std::string &storage = linear.weight.storage(), &codes = linear.activation.storage();
  const int64_t blocks = linear.k / elements;
  for (int64_t column = 0; column < linear.n; ++column) {
    std::vector<Block> weight;
    for (int64_t b = 0; b < blocks; ++b)
      weight.push_back(readBlock(storage, linear.weight.row(column), b));
    for (int64_t row = 0; row < linear.rows; ++row) {
      const ActivationRow activation(codes, linear.activation.row(row), linear.k);
      auto scale = [&](int64_t b) { return weight[b].scale * activation.scale(b); };
      auto dot = [&](int64_t b, int64_t lane) {
        return laneDot(dots, weight[b], activation, b, lane);
      };
      const float sum = reduction.laneProducts(blocks, scale, dot);
      linear.store(row, column,
                   minimums == Minimums::none ? sum
                                              : sum + minimumSum(minimums, weight, activation));
    }
  }
}

} // namespace writ::reference
