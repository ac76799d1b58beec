//===- Reduction.cpp - the order in which terms become a sum --------------===//
#include "ir/Reference/Reduction.h"

#include "ir/Reference/Scalar.h"
#include "ir/Reference/Schedule.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace writ::reference {
namespace {

const char *nameOf(Summed what) {
  switch (what) {
  case Summed::terms:
  case Summed::termsOfTile:
    return what == Summed::terms ? "single terms of any number" : "single terms";
  case Summed::products:
    return "products in binary32";
  case Summed::wideProducts:
    return "products in binary64";
  case Summed::laneDots:
    return "the dots of a block in lanes";
  }
  return "";
}

} // namespace

/// A result that 24 bits with an exponent without a limit leave below 2^-126 is flushed. Where the
/// product or the addend is large, a sum of this size is exact; where both are small, it is rounded
/// at 2^60 times its size.
static float multiplyAddFlushed(float a, float b, float c) {
  a = flushed(a), b = flushed(b), c = flushed(c);
  const float sum = std::fma(a, b, c);
  const double product = double(a) * double(b);
  if (!(std::fabs(sum) <= 0x1p-126f) || std::fabs(product) > 0x1p-60 || std::fabs(c) > 0x1p-60f)
    return sum;
  const bool isSmallA = std::fabs(a) < std::fabs(b);
  const float larger = std::fma(isSmallA ? std::ldexp(a, 60) : a, isSmallA ? b : std::ldexp(b, 60),
                                std::ldexp(c, 60));
  return std::fabs(larger) < 0x1p-66f ? std::copysign(0.0f, sum) : sum;
}

float multiplyAdd(MultiplyAdd form, float a, float b, float c) {
  if (form == MultiplyAdd::fma)
    return std::fma(a, b, c);
  if (form == MultiplyAdd::fmaFlushed)
    return multiplyAddFlushed(a, b, c);
  const float product = a * b;
  return product + c;
}

Reduction::Reduction(const Call &call, Fields &fields, const std::string &field, Summed what)
    : id(fields.word(field)) {
  const auto unknown = [&](const char *parameter, const std::string &word) {
    fields.fail(field, "reduction '" + id + "': the reference does not know " + parameter + " '" +
                           word + "'");
  };
  const nlohmann::json &words = call.vocabulary->at("words").at("reduction");
  if (!words.contains(id))
    fields.fail(field, "field '" + field + "' is '" + id + "', which is no reduction id");
  const nlohmann::json &word = words[id];
  choice = leftOpenToAll(call, field);
  if (id == kLeftOpen) { // terms or products, in any order, fused or not
    order = Order::leftOpen;
    form = choice & 1 ? MultiplyAdd::fma : MultiplyAdd::mulAdd;
    requireSums(fields, field, what);
    return;
  }
  const std::string precision = word.value("accumulator", "");
  const std::string multiply = word.value("multiply_add", "");
  isProduct = multiply != "none";
  wide = multiply == "fp32_mul_fp64_add";
  if (precision != (wide ? "fp64" : "fp32"))
    unknown("accumulator", precision);
  if (multiply == "mul_add")
    form = MultiplyAdd::mulAdd;
  else if (multiply == "fma_flushed")
    form = MultiplyAdd::fmaFlushed;
  else if (isProduct && multiply != "fma" && !wide)
    unknown("multiply_add", multiply);

  const std::string kind = word.value("order", "");
  if (kind == "slots" || kind == "block_lanes") {
    order = kind == "slots" ? Order::slots : Order::blockLanes;
    partials = word.at("lanes").get<int64_t>();
  } else if (kind == "lanes" || kind == "lanes_rest_fp32" || kind == "lanes_rest_fp64") {
    order = Order::lanes;
    rest = kind == "lanes" ? Rest::inLanes : kind == "lanes_rest_fp32" ? Rest::fp32 : Rest::fp64;
    partials = word.at("lanes").get<int64_t>();
  } else if (kind == "segments" || kind == "segments_pairs") {
    order = Order::segments;
    pairsSwapped = kind == "segments_pairs";
    partials = word.at("segments").get<int64_t>();
    unit = word.at("unit").get<int64_t>();
  } else if (kind == kLeftOpen) {
    order = Order::leftOpen;
  } else if (kind != "ascending") {
    unknown("order", kind);
  }

  const std::string merging = word.value("merge", "");
  if (merging == "tree_halves")
    mergeOrder = Merge::treeHalves;
  else if (merging == "tree_adjacent")
    mergeOrder = Merge::treeAdjacent;
  else if (merging == "tree_halves_adjacent4")
    mergeOrder = Merge::treeHalvesAdjacent4;
  else if (merging != "none")
    unknown("merge", merging);
  const bool merges = mergeOrder != Merge::none;
  if (merges ? !std::has_single_bit(static_cast<uint64_t>(partials)) : partials != 1)
    unknown("merge of this many partials", merging);
  requireSums(fields, field, what);
}

void Reduction::requireSums(const Fields &fields, const std::string &field, Summed what) const {
  if (!sums(what))
    fields.fail(field, "field '" + field + "' is '" + id + "', a reduction that does not sum " +
                           nameOf(what) + ", as is done here");
}

bool Reduction::sums(Summed what) const {
  switch (what) {
  case Summed::terms:
    return sums(Summed::termsOfTile) && order != Order::slots;
  case Summed::termsOfTile:
    return !isProduct && order != Order::blockLanes;
  case Summed::products:
    return (isProduct || id == kLeftOpen) && !wide && order != Order::blockLanes &&
           order != Order::slots;
  case Summed::wideProducts:
    return wide && order == Order::ascending;
  case Summed::laneDots:
    return isProduct && order == Order::blockLanes;
  }
  return false;
}

float Reduction::products(int64_t terms, const std::function<float(int64_t)> &a,
                          const std::function<float(int64_t)> &b, int64_t termsPerUnit) const {
  if (!sums(Summed::products))
    throw ReferenceError("reduction '" + id +
                         "' does not sum products in binary32, as is done here");
  return run(
      terms, termsPerUnit, [&](float sum, int64_t i) { return multiplyAdd(form, a(i), b(i), sum); },
      [&](int64_t i) { return a(i) * b(i); });
}

double Reduction::wideProducts(int64_t terms, const std::function<float(int64_t)> &a,
                               const std::function<float(int64_t)> &b) const {
  if (!sums(Summed::wideProducts))
    throw ReferenceError("reduction '" + id + "' does not sum products in binary64");
  double sum = 0;
  for (int64_t i = 0; i < terms; ++i) {
    const float product = a(i) * b(i);
    sum = sum + static_cast<double>(product);
  }
  return sum;
}

float Reduction::laneProducts(int64_t blocks, const std::function<float(int64_t)> &scale,
                              const std::function<float(int64_t, int64_t)> &dot) const {
  if (!sums(Summed::laneDots))
    throw ReferenceError("reduction '" + id + "' has no lanes for the dots of a block");
  std::vector<float> partial(partials, 0.0f);
  for (int64_t block = 0; block < blocks; ++block)
    for (int64_t lane = 0; lane < partials; ++lane)
      partial[lane] = multiplyAdd(form, scale(block), dot(block, lane), partial[lane]);
  return merge(std::move(partial));
}

float Reduction::terms(int64_t terms, const std::function<float(int64_t)> &term) const {
  if (!sums(Summed::termsOfTile))
    throw ReferenceError("reduction '" + id + "' does not sum single terms");
  return run(
      terms, unit, [&](float sum, int64_t i) { return sum + term(i); }, term);
}

float Reduction::run(int64_t terms, int64_t termsPerUnit,
                     const std::function<float(float, int64_t)> &accumulate,
                     const std::function<float(int64_t)> &term) const {
  std::vector<float> partial(partials, 0.0f);
  switch (order) {
  case Order::ascending:
    for (int64_t i = 0; i < terms; ++i)
      partial[0] = accumulate(partial[0], i);
    break;
  case Order::leftOpen: { // one of the orders that there are
    std::vector<int64_t> sequence(terms);
    std::iota(sequence.begin(), sequence.end(), 0);
    uint64_t state = choice;
    for (int64_t i = terms; i > 1; --i)
      std::swap(sequence[i - 1], sequence[nextNumber(state) % static_cast<uint64_t>(i)]);
    for (const int64_t i : sequence)
      partial[0] = accumulate(partial[0], i);
    break;
  }
  case Order::lanes: {
    const int64_t end = rest == Rest::inLanes ? terms : terms / partials * partials;
    for (int64_t lane = 0; lane < partials; ++lane)
      for (int64_t i = lane; i < end; i += partials)
        partial[lane] = accumulate(partial[lane], i);
    return addRest(merge(std::move(partial)), end, terms, term);
  }
  case Order::slots:
    if (terms > partials)
      throw ReferenceError("reduction '" + id + "' has fewer slots than terms");
    for (int64_t i = 0; i < terms; ++i)
      partial[i] = accumulate(0.0f, i);
    break;
  case Order::blockLanes:
    throw ReferenceError("reduction '" + id + "' adds the dots of blocks, no other terms");
  case Order::segments: {
    const int64_t units = (terms + termsPerUnit - 1) / termsPerUnit;
    const int64_t unitsOfSegment = (units + partials - 1) / partials;
    for (int64_t segment = 0; segment < partials; ++segment) {
      const int64_t begin = segment * unitsOfSegment * termsPerUnit;
      const int64_t end = std::min(terms, begin + unitsOfSegment * termsPerUnit);
      for (int64_t i = begin; i < end; ++i) { // the units of pairs begin at even elements
        const int64_t other = pairsSwapped ? i ^ 1 : i;
        partial[segment] = accumulate(partial[segment], other < end ? other : i);
      }
    }
    break;
  }
  }
  return merge(std::move(partial));
}

/// The terms [begin, end), after the merge.
float Reduction::addRest(float sum, int64_t begin, int64_t end,
                         const std::function<float(int64_t)> &term) const {
  if (rest == Rest::fp64) {
    double wideSum = static_cast<double>(sum);
    for (int64_t i = begin; i < end; ++i)
      wideSum = wideSum + static_cast<double>(term(i));
    return static_cast<float>(wideSum);
  }
  for (int64_t i = begin; i < end; ++i)
    sum = sum + term(i);
  return sum;
}

float Reduction::merge(std::vector<float> v) const {
  if (mergeOrder == Merge::none)
    return v[0];
  // Halves first, down to as many as are then merged with their neighbours.
  size_t left = v.size();
  const size_t adjacent = mergeOrder == Merge::treeAdjacent          ? left
                          : mergeOrder == Merge::treeHalvesAdjacent4 ? 4
                                                                     : 1;
  for (; left > adjacent; left /= 2)
    for (size_t i = 0; i < left / 2; ++i)
      v[i] = v[i] + v[i + left / 2];
  for (; left > 1; left /= 2)
    for (size_t i = 0; i < left / 2; ++i)
      v[i] = v[2 * i] + v[2 * i + 1];
  return v[0];
}

} // namespace writ::reference
