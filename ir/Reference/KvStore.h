//===- KvStore.h - the KV state of a call ---------------------------------===//
#pragma once

#include "ir/Reference/Fields.h"
#include "ir/Reference/Operands.h"

namespace writ::reference {

/// The KV state of the call; an error where there is none of this shape and of the contract's
/// storage.
KvState &kvState(const Call &call, int64_t kvHeads, int64_t headDim);

/// The contract's KV storage is one whose elements are exact in binary32.
void requireReadableKv(const Fields &fields);

/// The elements of one plane of a sequence as binary32 values, each exact.
std::vector<float> planeValues(const KvState &state, const std::vector<std::byte> &plane);

} // namespace writ::reference
