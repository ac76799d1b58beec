//===- Fill.h - what values an operand is filled with ---------------------===//
//
// A fill is a kind of sum, not of number. Where each factor of a product alternates, the products
// do not; so what an operand holds depends on the part that it has in the sums of its op.
// fill_test.cpp shows for each family that the sums are what the fill's name says.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/conformance/Data.h"

namespace writ::test {

enum class Fill {
  plain,       ///< magnitudes of a trained model
  cancelling,  ///< terms and, a few further on, nearly their negatives
  spread,      ///< magnitudes over many powers of two
  equal,       ///< one value
  tiny,        ///< subnormals and values near them
  dominating,  ///< one term that is larger than all the others together
  alternating, ///< terms near one magnitude, of alternating sign
  special      ///< NaN, infinities, -0, the largest and least values among others
};
inline constexpr Fill kFills[] = {Fill::plain, Fill::cancelling, Fill::spread,      Fill::equal,
                                  Fill::tiny,  Fill::dominating, Fill::alternating, Fill::special};
const char *nameOf(Fill fill);

/// What an operand is in the sums of its op.
enum class Part {
  term,   ///< what is summed, or the factor of it that decides signs and sizes
  factor, ///< the other factor of the terms
  across, ///< summed over runs, element by element: the values of attention
  addend  ///< added to a sum that is complete
};

struct Filling {
  Fill fill = Fill::plain;
  Part part = Part::term;
  int64_t run = 1;  ///< consecutive elements that one sum takes
  int64_t unit = 1; ///< elements that cancel, dominate or change sign together: a block's, or one
  int exponent = 0; ///< of the middle of a spread
};

/// How far apart a term and its negative stand, of `units` units: some are summed in between.
int64_t mirrorDistance(int64_t units);

/// Fills a tensor of `storage` run by run. Of activation codes and weights in blocks a run is whole
/// rows of blocks.
void fill(std::span<std::byte> bytes, const std::string &storage, const Filling &filling,
          Random &random);

/// Fills rows of activation codes: any codes that a quantization can give, with their sums.
void fillCodes(std::span<std::byte> bytes, const std::string &storage, const Filling &filling,
               Random &random);

/// Fills a plane of the KV state. Of Q8_0 whatever blocks, or those that hold the values of a fill
/// that is about terms.
void fillPlane(std::span<std::byte> bytes, const std::string &storage, const Filling &filling,
               Random &random);

} // namespace writ::test
