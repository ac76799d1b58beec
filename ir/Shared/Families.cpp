#include "ir/Shared/Families.h"

#include "writ/packed_layout.h"

namespace writ {
namespace {

using Names = std::string_view[];

constexpr OperandShape rowOfN[] = {{"out", {"n", ""}}};
constexpr OperandShape vectorsIn[] = {{"input", {"vectors", "n"}}};
constexpr OperandShape vectorsOut[] = {{"out", {"vectors", "n"}}};
constexpr OperandShape rowOfK[] = {{"out", {"k", ""}}};
constexpr OperandShape inputOfN[] = {{"input", {"n", ""}}};
constexpr OperandShape inputOfK[] = {{"input", {"k", ""}}};
constexpr OperandShape linearInputs[] = {{"activation", {"k", ""}}};
constexpr OperandShape tableOut[] = {{"out", {"rope_dims", ""}}};
constexpr OperandShape ropeInputs[] = {{"input", {"heads", "head_dim"}},
                                       {"table", {"rope_dims", ""}}};
constexpr OperandShape headsOut[] = {{"out", {"heads", "head_dim"}}};
constexpr OperandShape kvInputs[] = {{"k", {"kv_heads", "head_dim"}},
                                     {"v", {"kv_heads", "head_dim"}}};
constexpr OperandShape attentionInputs[] = {{"q", {"heads", "head_dim"}}};
constexpr OperandShape gateInputs[] = {{"gate", {"n", ""}}, {"up", {"n", ""}}};
constexpr OperandShape residualInputs[] = {{"a", {"n", ""}}, {"b", {"n", ""}}};

constexpr Names weight = {"weight"};
constexpr Names bias = {"bias"};
constexpr Names sinks = {"sinks"};
constexpr Names softCap = {"soft_cap"};
constexpr Names frequencies = {"frequencies"};

constexpr Names dimsN = {"n"};
constexpr Names dimsNorm = {"n", "vectors"};
constexpr Names dimsK = {"k"};
constexpr Names dimsEmbedding = {"n", "vocabulary"};
constexpr Names dimsLinear = {"k", "n"};
constexpr Names dimsTable = {"rope_dims"};
constexpr Names dimsRope = {"head_dim", "heads", "rope_dims"};
constexpr Names dimsStore = {"head_dim", "kv_heads"};
constexpr Names dimsAttention = {"head_dim", "heads", "kv_heads"};

constexpr FamilyShape families[] = {
    {.family = "embedding",
     .inputs = {},
     .outputs = rowOfN,
     .weights = weight,
     .optionalWeights = {},
     .dimensions = dimsEmbedding,
     .readsRows = true},
    {.family = "rms_norm",
     .inputs = vectorsIn,
     .outputs = vectorsOut,
     .weights = weight,
     .optionalWeights = {},
     .dimensions = dimsNorm},
    {.family = "layer_norm",
     .inputs = vectorsIn,
     .outputs = vectorsOut,
     .weights = weight,
     .optionalWeights = bias,
     .dimensions = dimsNorm},
    {.family = "l2_norm",
     .inputs = vectorsIn,
     .outputs = vectorsOut,
     .weights = {},
     .optionalWeights = {},
     .dimensions = dimsNorm},
    {.family = "quantize_activation",
     .inputs = inputOfK,
     .outputs = rowOfK,
     .weights = {},
     .optionalWeights = {},
     .dimensions = dimsK},
    {.family = "linear",
     .inputs = linearInputs,
     .outputs = rowOfN,
     .weights = weight,
     .optionalWeights = bias,
     .dimensions = dimsLinear},
    {.family = "rope_table",
     .inputs = {},
     .outputs = tableOut,
     .weights = frequencies,
     .optionalWeights = {},
     .dimensions = dimsTable,
     .readsRows = true},
    {.family = "rope",
     .inputs = ropeInputs,
     .outputs = headsOut,
     .weights = {},
     .optionalWeights = {},
     .dimensions = dimsRope},
    {.family = "kv_store",
     .inputs = kvInputs,
     .outputs = {},
     .weights = {},
     .optionalWeights = {},
     .dimensions = dimsStore,
     .readsRows = true,
     .readsKv = true,
     .writesKv = true},
    {.family = "attention",
     .inputs = attentionInputs,
     .outputs = headsOut,
     .weights = {},
     .optionalWeights = sinks,
     .dimensions = dimsAttention,
     .readsRows = true,
     .readsKv = true,
     .optionalNumbers = softCap},
    {.family = "gate",
     .inputs = gateInputs,
     .outputs = rowOfN,
     .weights = {},
     .optionalWeights = {},
     .dimensions = dimsN},
    {.family = "activation",
     .inputs = inputOfN,
     .outputs = rowOfN,
     .weights = {},
     .optionalWeights = {},
     .dimensions = dimsN},
    {.family = "soft_cap",
     .inputs = inputOfN,
     .outputs = rowOfN,
     .weights = {},
     .optionalWeights = {},
     .dimensions = dimsN},
    {.family = "residual",
     .inputs = residualInputs,
     .outputs = rowOfN,
     .weights = {},
     .optionalWeights = {},
     .dimensions = dimsN},
    {.family = "select_rows",
     .inputs = inputOfN,
     .outputs = rowOfN,
     .weights = {},
     .optionalWeights = {},
     .dimensions = dimsN,
     .readsRows = true,
     .selectsRows = true},
    {.family = "rms_norm_quantize",
     .inputs = vectorsIn,
     .outputs = rowOfN,
     .weights = weight,
     .optionalWeights = {},
     .dimensions = dimsNorm},
    {.family = "gate_quantize",
     .inputs = gateInputs,
     .outputs = rowOfN,
     .weights = {},
     .optionalWeights = {},
     .dimensions = dimsN},
};

int64_t scalarBytes(std::string_view storage) {
  if (storage == "f32" || storage == "i32")
    return 4;
  if (storage == "f16" || storage == "bf16")
    return 2;
  return storage == "f64" ? 8 : 0;
}

const ActivationCodes *findCodes(std::string_view storage) {
  for (const ActivationCodes *codes : kActivationCodes)
    if (storage == codes->storage)
      return codes;
  return nullptr;
}

} // namespace

const FamilyShape *findFamilyShape(std::string_view family) {
  for (const FamilyShape &shape : families)
    if (shape.family == family)
      return &shape;
  return nullptr;
}

std::optional<int64_t>
rowWidth(const OperandShape &operand,
         const std::function<std::optional<int64_t>(std::string_view)> &dimension) {
  int64_t width = 1;
  for (std::string_view name : operand.width) {
    if (name.empty())
      continue;
    std::optional<int64_t> size = dimension(name);
    if (!size || __builtin_mul_overflow(width, *size, &width))
      return std::nullopt;
  }
  return width;
}

std::optional<int64_t> rowBytes(std::string_view storage, int64_t width) {
  constexpr int64_t widest = int64_t{1} << 40; // the rows of a whole model still add up in 64 bits
  if (width <= 0 || width > widest)
    return std::nullopt;
  if (int64_t bytes = scalarBytes(storage))
    return width * bytes;
  for (const ActivationBlocks *blocks : kActivationBlocks)
    if (storage == blocks->storage)
      return width % blocks->elements == 0 ? std::optional(blocks->rowBytes(width)) : std::nullopt;
  const ActivationCodes *codes = findCodes(storage);
  if (!codes || width % codes->block != 0)
    return std::nullopt;
  return codes->rowBytes(width);
}

} // namespace writ
