//===- KvStore.cpp - rows of K and V into the KV state --------------------===//
#include "ir/Reference/KvStore.h"

#include "ir/Reference/CodesOfBlock.h"
#include "ir/Reference/Entries.h"

#include <algorithm>
#include <optional>

namespace writ::reference {
namespace {

/// One row of K or V, all heads, into its place.
void storeRow(const Matrix &from, int64_t row, const std::string &storage,
              const std::optional<BlockQuantizer> &quantizer, std::byte *into) {
  if (!quantizer) {
    for (int64_t i = 0; i < from.columns(); ++i)
      writeScalar(storage, into, i, from.get(row, i));
    return;
  }
  const int64_t elements = quantizer->elements();
  ActivationRow codes(storage, into, from.columns());
  for (int64_t block = 0; block < from.columns() / elements; ++block) {
    const BlockCodes made =
        quantizer->codesOf([&](int64_t i) { return from.get(row, block * elements + i); });
    for (int64_t i = 0; i < elements; ++i)
      codes.setCode(block * elements + i, made.codes[static_cast<size_t>(i)]);
    codes.setScale(block, made.scale);
  }
}

} // namespace

KvState &kvState(const Call &call, int64_t kvHeads, int64_t headDim) {
  const std::string stated = call.contract->at("operands").at("kv").at("storage");
  if (!call.kv || call.kv->storage != stated || call.kv->kvHeads != kvHeads ||
      call.kv->headDim != headDim)
    throw ReferenceError("the KV state is missing, or not of the op's shape and storage");
  return *call.kv;
}

void requireReadableKv(const Fields &fields) {
  if (const std::string &storage = fields.storage("kv"); !isScalar(storage) && storage != "q8_0")
    fields.fail("operands.kv.storage", "operand 'kv' has storage '" + storage +
                                           "'; the reference knows 'f32', 'f16', 'bf16', 'q8_0'");
}

std::vector<float> planeValues(const KvState &state, const std::vector<std::byte> &plane) {
  const int64_t rowSize = rowBytes(state.storage, state.headDim);
  const int64_t elements = static_cast<int64_t>(plane.size()) / rowSize * state.headDim;
  std::vector<float> values;
  values.reserve(static_cast<size_t>(elements));
  if (isScalar(state.storage)) {
    for (int64_t i = 0; i < elements; ++i)
      values.push_back(readScalar(state.storage, plane.data(), i));
    return values;
  }
  if (state.storage != "q8_0") // d * code of other storages is not exact
    throw ReferenceError("KV storage '" + state.storage + "' is not one that the reference reads");
  for (int64_t b = 0; b < elements / blockElements(state.storage); ++b) {
    const Block block = readBlock(state.storage, plane.data(), b);
    for (const int32_t code : block.code)
      values.push_back(block.scale * static_cast<float>(code));
  }
  return values;
}

void evaluateKvStore(Call &call) {
  Fields fields(call, "kv_store");
  std::optional<BlockQuantizer> quantizer;
  if (fields.choose("quantization", {"none", "block_codes"}) == 1)
    quantizer.emplace(fields);
  fields.require("rounding", "nearest_even");
  const char *exceptional = quantizer ? "block_scale_nan_codes_zero" : "copied";
  fields.requireIeee(exceptional, exceptional);
  fields.requireScalars({"k", "v"});
  const std::string &storage = fields.storage("kv");
  if (isScalar(storage) == quantizer.has_value() ||
      (quantizer && (storage != "q8_0" || quantizer->elements() != blockElements(storage))))
    fields.fail("quantization",
                "field 'quantization' does not make what KV storage '" + storage + "' holds");
  if (!fields.checkAllRead())
    return;

  const int64_t rows = dimension(call, "rows"), kvHeads = dimension(call, "kv_heads");
  const int64_t headDim = dimension(call, "head_dim"), width = kvHeads * headDim;
  const Matrix k = matrix(call, "k", rows, width), v = matrix(call, "v", rows, width);
  KvState &kv = kvState(call, kvHeads, headDim);
  for (int64_t row = 0; row < rows; ++row) {
    const size_t index = static_cast<size_t>(call.rows.sequence.at(row));
    if (index >= kv.sequences.size())
      kv.sequences.resize(index + 1);
    KvState::Sequence &sequence = kv.sequences[index];
    const int64_t bytes = rowBytes(kv.storage, headDim) * kvHeads;
    const size_t offset = static_cast<size_t>(call.rows.position.at(row) * bytes);
    for (auto *plane : {&sequence.k, &sequence.v})
      plane->resize(std::max(plane->size(), offset + bytes));
    storeRow(k, row, kv.storage, quantizer, sequence.k.data() + offset);
    storeRow(v, row, kv.storage, quantizer, sequence.v.data() + offset);
  }
}

} // namespace writ::reference
