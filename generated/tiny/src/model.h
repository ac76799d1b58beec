// tiny: its sizes, as constants.
//
// Emitted by Writ from the circuit 'llama' under the profile 'portable' for cpu.
// Do not edit: a changed model is a new compilation.
//
//   circuit     2fc246578a65cafb6bb45b1fb78c757705498756a3d0524e03cf3a0ffd03763c
//   profile     21718fa5b4b15077a33c4e74a9d679a84be265c045d2b0aa6a384f8439696129
//   resolution  df3bcbbee4f9cb3c9058d06a8de0bb59bdabbdf938d2c2db41f892dea93dea71
#pragma once

#include "writ/model_abi.h"

namespace model {

inline constexpr int64_t kVocabulary = 320; ///< token ids
inline constexpr int64_t kContextLength = 128; ///< positions that the model was made for
inline constexpr int64_t kRowArenaBytes = 1792; ///< for each row of a step
inline constexpr int64_t kOutputArenaBytes = 1408; ///< for each output row of a step
inline constexpr int64_t kLogitsOffset = 0; ///< bytes per output row, in the output arena
inline constexpr int64_t kWeightsBytes = 61568; ///< of the packed weights' data
inline constexpr int64_t kKvBytesPerToken = 256; ///< in all layers

inline constexpr uint32_t kPrefillCalls = 46;
inline constexpr uint32_t kDecodeCalls = 46;
inline constexpr uint32_t kKvGroupCount = 1;

/// What each call computes; those of prefill first.
extern const writ_call_info kCalls[kPrefillCalls + kDecodeCalls];

} // namespace model
