// tiny: its sizes, as constants.
//
// Emitted by Writ from the circuit 'llama' under the profile 'portable' for cpu.
// Do not edit: a changed model is a new compilation.
//
//   circuit     98c2a84c2515390a4ff12ffe176f19abb630b4cc3a9be7c8e679f8a1eb9545db
//   profile     3cde3ce7e486d7494025bf4b80db1a6d2729c5e6af44b58caa0a42a3e553a542
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
