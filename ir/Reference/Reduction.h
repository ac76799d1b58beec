//===- Reduction.h - the order in which terms become a sum ----------------===//
//
// A reduction id is looked up in the vocabulary; lanes, segments, unit and merge are read there.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/Reference/Fields.h"

#include <functional>

namespace writ::reference {

/// a * b + c as the word says: "fma" rounds once, "mul_add" twice, "fma_flushed" once with no
/// subnormal in or out.
enum class MultiplyAdd { fma, mulAdd, fmaFlushed };
float multiplyAdd(MultiplyAdd form, float a, float b, float c);

/// What an op sums: any number of values, those of a tile, products in binary32 or binary64, the
/// dots of a block lane by lane.
enum class Summed { terms, termsOfTile, products, wideProducts, laneDots };

class Reduction {
public:
  /// The reduction that `field` of the contract names, which must be able to sum that.
  Reduction(const Call &call, Fields &fields, const std::string &field, Summed what);

  /// Sum of a(i) * b(i). `unit` is how many terms make one unit of the segments: the vocabulary's
  /// number of elements where a term is an element, 1 where it is a whole block.
  float products(int64_t terms, const std::function<float(int64_t)> &a,
                 const std::function<float(int64_t)> &b, int64_t unit) const;
  /// The same in a binary64 accumulator.
  double wideProducts(int64_t terms, const std::function<float(int64_t)> &a,
                      const std::function<float(int64_t)> &b) const;
  /// Whether the accumulator is binary64.
  bool isWide() const { return wide; }
  /// Whether such sums can be made.
  bool sums(Summed what) const;
  /// Sum of scale(block) * dot(block, lane), each lane by itself, the lanes merged.
  float laneProducts(int64_t blocks, const std::function<float(int64_t)> &scale,
                     const std::function<float(int64_t, int64_t)> &dot) const;
  /// The number of lanes or segments.
  int64_t partialCount() const { return partials; }
  /// Elements of one unit.
  int64_t unitElements() const { return unit; }
  /// Sum of term(i).
  float terms(int64_t terms, const std::function<float(int64_t)> &term) const;
  bool multiplies() const { return isProduct; }
  /// The most terms that there are places for; 0: any number.
  int64_t places() const { return order == Order::slots ? partials : 0; }
  /// Whether a multiply-add counts subnormals as zero.
  bool flushes() const { return form == MultiplyAdd::fmaFlushed; }
  /// Whether the vocabulary says nothing of the order.
  bool isLeftOpen() const { return order == Order::leftOpen; }

private:
  enum class Order { lanes, slots, segments, ascending, blockLanes, leftOpen };
  enum class Rest { inLanes, fp32, fp64 }; ///< of the lanes' terms that are no full round
  enum class Merge { treeHalves, treeAdjacent, treeHalvesAdjacent4, none };

  /// `term` gives term i by itself, rounded to binary32.
  float run(int64_t terms, int64_t termsPerUnit,
            const std::function<float(float, int64_t)> &accumulate,
            const std::function<float(int64_t)> &term) const;
  void requireSums(const Fields &fields, const std::string &field, Summed what) const;
  float addRest(float sum, int64_t begin, int64_t end,
                const std::function<float(int64_t)> &term) const;
  float merge(std::vector<float> partials) const;

  std::string id;
  Order order = Order::ascending;
  Rest rest = Rest::inLanes;
  Merge mergeOrder = Merge::none;
  bool isProduct = false, wide = false;
  MultiplyAdd form = MultiplyAdd::fma;
  int64_t partials = 1;
  int64_t unit = 1;
  bool pairsSwapped = false; ///< of two neighbours the second first
  uint64_t choice = 0;       ///< of an order that is left open
};

} // namespace writ::reference
