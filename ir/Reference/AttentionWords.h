//===- AttentionWords.h - the arithmetic that an attention contract names -===//
//
// All words of the family, read once; Attention.cpp applies them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/Reference/Function.h"
#include "ir/Reference/Reduction.h"
#include "ir/Reference/Scalar.h"

#include <optional>

namespace writ::reference {

/// How a range of keys becomes m, l and o (`rescale`).
enum class Softmax { tiles, eachKey, twoPasses };

/// Which ranges there are (`partition.kind`).
enum class Partition { none, fixedChunks, chunksByWorkers };

struct AttentionWords {
  /// Reads every field of the contract.
  AttentionWords(const Call &call, Fields &fields);

  Rounding query, key, value; ///< of an operand, before it is used
  Reduction dot;
  Rounding score = Rounding::none; ///< of the dot product, and of it times the scale
  bool scalesQuery = false;        ///< before it is rounded, in the place of the score
  std::optional<Function> cap;
  Function exponential;
  Softmax softmax;
  std::optional<Reduction> weightSum;         ///< of a tile, or of both passes' range
  MultiplyAdd valueForm;                      ///< p * v + o
  MultiplyAdd rescaleForm = MultiplyAdd::fma; ///< what was there, rescaled, + what is added
  Rounding accumulator;                       ///< of a value sum, after each update
  Partition partition;
  int64_t threshold = 0, tile = 1, chunk = 0; ///< in keys; 1 is no tile
  Rounding partial = Rounding::none;          ///< of the value sums of a range
  bool hasSinks;
  bool computes = true;   ///< false where the contract is only read
  bool normalizesWeights; ///< before the values, rounded to bfloat16; else the result is divided
};

} // namespace writ::reference
