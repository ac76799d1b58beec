// tiny: its sizes, as constants.
//
// Emitted by Writ from the circuit 'llama' under the profile 'portable' for cpu.
// Do not edit: a changed model is a new compilation.
//
//   circuit     2fc246578a65cafb6bb45b1fb78c757705498756a3d0524e03cf3a0ffd03763c
//   profile     4d0fcb1717b87d6d5ada29bed701f15d737094a3231ff53dca3fc3c20e2e82f0
//   resolution  562b54d14f3b52c6d7d332e1e5893fb5f0a3242f76101224d870f9607cb1e5e3
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
