// tiny: its sizes, as constants.
//
// Emitted by Writ from the circuit 'llama' under the profile 'portable' for cpu.
// Do not edit: a changed model is a new compilation.
//
//   circuit     a128fec24708013fc2b28959eff5d70a966647b86af88212992b7ab6dbf04950
//   profile     70151e6f55919d55ea06ae36a2b6be846cf603d2e0a078b3480d5a384f4be646
//   resolution  d80a103d3dfba6fece617d675b61277bea8b8db17450aaa525a568802c6ca999
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
