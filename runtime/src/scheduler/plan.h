//===- plan.h - what a session will be, before it is ----------------------===//
#pragma once

#include "kv/kv_cache.h"
#include "package/package.h"

namespace writ {

/// The options with every default replaced by its value. Throws Failure, which names the option.
writ_session_options resolveOptions(const Package &package, const writ_session_options &given);

/// `options` is resolved in all functions below.
KvOptions kvOptions(const writ_session_options &options);
/// Throws Failure where a size does not fit.
writ_memory_plan planMemory(const Package &package, const writ_session_options &options);

/// The processor of each thread; empty where they are not bound.
std::vector<int> pinsOf(const writ_session_options &options);

/// Room for the states of parts of attention's keys, which threads work on apart.
ByteCount partialBytes(const writ_model_desc &model, const writ_session_options &options);

/// Outputs that are sampled at one time, which bounds the sampler's scratch.
int64_t sampleBatch(const writ_session_options &options);
/// Bytes of scratch of one row of the family `sample` (model_abi.h).
ByteCount sampleScratchBytes(const writ_model_desc &model);
/// Logits kept aside where a step is split, so that outputs of both halves stand beside each other.
/// Zero where a step never is.
int64_t keptOutputs(const writ_model_desc &model, const writ_session_options &options);

} // namespace writ
