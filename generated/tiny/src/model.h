// tiny: its sizes, as constants.
//
// Emitted by Writ from the circuit 'llama' under the profile 'portable' for cpu.
// Do not edit: a changed model is a new compilation.
//
//   circuit     2fc246578a65cafb6bb45b1fb78c757705498756a3d0524e03cf3a0ffd03763c
//   profile     03891e401a96159685f7e64d2b2d76e2f0a58d896b76ff90339ca4ec2e8fbb59
//   resolution  faeac255a2cf37d0a89de0171236c24b74c4a55c8a656dbca93a5c5036ab8f3f
#pragma once

#include "writ/model_abi.h"

namespace model {

inline constexpr int64_t kVocabulary = 320; ///< token ids
inline constexpr int64_t kContextLength = 128; ///< positions that the model was made for
inline constexpr int64_t kRowArenaBytes = 1408; ///< for each row of a step
inline constexpr int64_t kOutputArenaBytes = 1408; ///< for each output row of a step
inline constexpr int64_t kLogitsOffset = 0; ///< bytes per output row, in the output arena
inline constexpr int64_t kWeightsBytes = 61568; ///< of the packed weights' data
inline constexpr int64_t kKvBytesPerToken = 256; ///< in all layers

inline constexpr uint32_t kPrefillCalls = 39;
inline constexpr uint32_t kDecodeCalls = 39;
inline constexpr uint32_t kKvGroupCount = 1;

/// What each call computes; those of prefill first.
extern const writ_call_info kCalls[kPrefillCalls + kDecodeCalls];

} // namespace model
