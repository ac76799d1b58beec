//===- toy_model.h - a model whose logits tell where K and V were read -----===//
//
// Each row's state is a hash of its token and of every K and V word that its sequence holds up to
// its position, in order, read through the block table. One word from a wrong page, position, head
// or plane, one row too few or one unit done twice, and all logits of the row are others. The
// arithmetic is exact, so that every split over threads, chunks and batches must give the same
// bits.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "writ/model_abi.h"

#include <cstdint>
#include <string>
#include <vector>

namespace toy {

inline constexpr int64_t kVocabulary = 48;
inline constexpr int64_t kContext = 2048;
inline constexpr int64_t kHeads = 2;
inline constexpr int64_t kHeadWords = 4;
inline constexpr int64_t kLayers[2] = {2, 1}; ///< of the two KV groups
inline constexpr int64_t kWeightWords = 64;   ///< uint64
inline const std::string kResolution(64, 'a'), kCalls(64, 'd');
inline const std::string kModelFile(64, '1'), kCircuit(64, '2'), kProfile(64, '3');

/// Weights that the package's file holds.
std::vector<uint64_t> weights();

/// The logits of the last token of a history, computed without pages, pool or runtime.
std::vector<float> expectedLogits(const std::vector<int32_t> &history);

/// A token for which the row's logits hold a NaN: logits of the row are not finite.
inline constexpr int32_t kNanToken = kVocabulary - 1;

/// phases_alike 1 and 0.
const writ_model_desc *alikeModel();
const writ_model_desc *splitModel();

/// Runs of the entries, since the program began.
struct Runs {
  int64_t prefill = 0, decode = 0;
};
Runs runs();

} // namespace toy
