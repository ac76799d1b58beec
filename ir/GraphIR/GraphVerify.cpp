//===- GraphVerify.cpp - ir/spec.md on the ops of graph ------------------===//
#include "ir/GraphIR/GraphFields.h"
#include "ir/Shared/Families.h"

#include "llvm/ADT/SmallPtrSet.h"

#include <cmath>

using namespace mlir;
using namespace writ;
using namespace writ::graph;

namespace {

std::optional<int64_t> dimension(DictionaryAttr dimensions, StringRef name) {
  auto size = dimensions.getAs<IntegerAttr>(name);
  return size ? std::optional(size.getInt()) : std::nullopt;
}

//===- what all kernel ops share ---------------------------------------------===//

const FamilyShape &shapeOf(Operation *op) {
  return *findFamilyShape(op->getName().stripDialect());
}

LogicalResult verifyTensor(Operation *op, Type type, const OperandShape &operand,
                           DictionaryAttr dimensions) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  // graph.kernel C2
  if (!tensor || tensor.getRank() != 2 || !tensor.isDynamicDim(0) || tensor.isDynamicDim(1))
    return op->emitOpError() << "'" << operand.name << "' is " << type
                             << "; an operand is a tensor of any number of rows of one width";
  std::optional<int64_t> width =
      rowWidth(operand, [&](std::string_view name) { return dimension(dimensions, name); });
  // graph.kernel C3
  if (!width || tensor.getDimSize(1) != *width)
    return op->emitOpError() << "'" << operand.name << "' has rows of " << tensor.getDimSize(1)
                             << " elements, but its dimensions make " << (width ? *width : 0);
  // graph.kernel C4
  bool codes = bool(tensor.getEncoding());
  if (codes != tensor.getElementType().isInteger(8) ||
      !rowBytes(storageOf(tensor), tensor.getDimSize(1)))
    return op->emitOpError() << "'" << operand.name << "' has storage '" << storageOf(tensor)
                             << "', which has no rows of " << tensor.getDimSize(1) << " elements";
  return success();
}

LogicalResult verifyKernel(Operation *op, DictionaryAttr dimensions) {
  const FamilyShape &shape = shapeOf(op);
  // graph.kernel C1
  if (failed(dimensionsArePositive(op, dimensions)))
    return failure();
  for (std::string_view name : shape.dimensions)
    if (!dimensions.contains(name))
      return op->emitOpError() << "lacks dimension '" << name << "' of its family";
  for (NamedAttribute field : dimensions)
    if (!llvm::is_contained(shape.dimensions, std::string_view(field.getName().getValue())))
      return op->emitOpError() << "has dimension '" << field.getName().getValue()
                               << "', which its family does not know";
  size_t next = shape.readsRows ? 1 : 0;
  for (const OperandShape &input : shape.inputs)
    if (failed(verifyTensor(op, op->getOperand(next++).getType(), input, dimensions)))
      return failure();
  for (auto [result, output] : llvm::zip(op->getResults(), shape.outputs))
    if (failed(verifyTensor(op, result.getType(), output, dimensions)))
      return failure();
  return success();
}

bool holdsCodes(Value value) {
  return bool(cast<RankedTensorType>(value.getType()).getEncoding());
}

// graph.kernel C5
LogicalResult noCodes(Operation *op) {
  for (Value value : op->getOperands())
    if (isa<RankedTensorType>(value.getType()) && holdsCodes(value))
      return op->emitOpError() << "takes codes of storage '" << storageOf(value.getType())
                               << "'; quantized tensors are never operands of a float kernel";
  return success();
}

LogicalResult verifyFloatKernel(Operation *op, DictionaryAttr dimensions) {
  return success(succeeded(verifyKernel(op, dimensions)) && succeeded(noCodes(op)));
}

LogicalResult verifyResolution(ResolvedOpInterface op, SymbolTableCollection &symbols,
                               StringRef phase) {
  auto found = symbols.lookupNearestSymbolFrom<ResolutionOp>(op, op.getResolution());
  // graph.kernel C6
  if (!found)
    return op->emitOpError() << "names " << op.getResolution() << ", which is no resolution";
  StringRef family = isa<HostOp>(op) ? cast<HostOp>(op).getFamily() : op->getName().stripDialect();
  // graph.kernel C7
  if (found.getOpName() != op.getOpName() || found.getFamily() != family ||
      found.getPhase() != phase)
    return op->emitOpError() << "is '" << op.getOpName() << "' (" << family << ", " << phase
                             << "), but " << op.getResolution() << " is for '" << found.getOpName()
                             << "' (" << found.getFamily() << ", " << found.getPhase() << ")";
  return success();
}

/// The weight that `symbol` names has `shape`.
LogicalResult verifyWeight(Operation *op, SymbolTableCollection &symbols, FlatSymbolRefAttr symbol,
                           ArrayRef<int64_t> shape) {
  auto weight = symbols.lookupNearestSymbolFrom<WeightOp>(op, symbol);
  // graph.kernel C8
  if (!weight)
    return op->emitOpError() << "names " << symbol << ", which is no weight";
  // graph.kernel C9
  if (weight.getShape() != shape) {
    InFlightDiagnostic error = op->emitOpError() << "needs a weight of " << dims(shape) << ", but "
                                                 << symbol << " is " << dims(weight.getShape());
    error.attachNote(weight.getLoc()) << "declared here";
    return error;
  }
  // graph.kernel C10
  if (!weight.getLayout())
    return op->emitOpError() << "names " << symbol << ", which has no layout";
  return success();
}

LogicalResult verifySymbols(ResolvedOpInterface op, SymbolTableCollection &symbols) {
  return verifyResolution(op, symbols, op->getParentOfType<EntryOp>().getSymName());
}

template <typename OpT> LogicalResult verifyKvUse(OpT op, SymbolTableCollection &symbols) {
  auto group = symbols.lookupNearestSymbolFrom<KvGroupOp>(op, op.getKvGroupAttr());
  // graph.kernel C11
  if (!group || group.getShape() != op.getKv().getType())
    return op->emitOpError() << "names " << op.getKvGroupAttr()
                             << ", which is no KV group of the type of its state";
  KvType kv = op.getKv().getType();
  // graph.kernel C12
  if (op.getKvLayer() >= uint64_t(kv.getLayers()))
    return op->emitOpError() << "uses KV layer " << op.getKvLayer() << " of a group of "
                             << kv.getLayers();
  // graph.kernel C13
  if (dimension(op.getDimensions(), "kv_heads") != kv.getKvHeads() ||
      dimension(op.getDimensions(), "head_dim") != kv.getHeadDim())
    return op->emitOpError() << "has heads that its KV group does not have: " << kv;
  return verifySymbols(op, symbols);
}

} // namespace

//===- entries ---------------------------------------------------------------------===//

LogicalResult EntryOp::verifyRegions() {
  // graph.entry C1
  if (getSymName() != "prefill" && getSymName() != "decode")
    return emitOpError() << "is '" << getSymName() << "'; entries are prefill and decode";
  SmallVector<Type> expected{RowsType::get(getContext())};
  for (KvGroupOp group : cast<ModuleOp>((*this)->getParentOp()).getOps<KvGroupOp>())
    expected.push_back(group.getShape());
  // graph.entry C2
  if (getBody().getArgumentTypes() != ArrayRef<Type>(expected))
    return emitOpError("takes the rows, then the state of each KV group in order");
  auto result = cast<ReturnOp>(getBody().front().getTerminator());
  // graph.entry C3
  if (result.getNumOperands() != expected.size() ||
      !isa<RankedTensorType>(result.getOperand(0).getType()) ||
      ArrayRef<Type>(expected).drop_front() != TypeRange(result.getOperands()).drop_front())
    return result.emitOpError("returns the logits, then the state of each KV group in order");

  llvm::SmallPtrSet<Value, 16> outputRows;
  llvm::SmallPtrSet<Value, 4> replaced;
  for (Operation &op : getBody().front()) {
    bool selects = isa<SelectRowsOp>(op), some = false, all = true;
    for (Value operand : op.getOperands()) {
      // graph.entry C4
      if (replaced.contains(operand))
        return op.emitOpError("uses a KV state that an earlier op has replaced");
      if (!isa<RankedTensorType>(operand.getType()))
        continue;
      bool isOutput = outputRows.contains(operand);
      some |= isOutput;
      all &= isOutput;
    }
    // graph.entry C5
    if (some && (!all || selects || isa<KvStoreOp, AttentionOp>(op)))
      return op.emitOpError("mixes rows of the step with output rows");
    if (selects || some)
      outputRows.insert(op.result_begin(), op.result_end());
    if (auto store = dyn_cast<KvStoreOp>(op))
      replaced.insert(store.getKv());
  }
  // graph.entry C6
  if (!outputRows.contains(result.getOperand(0)))
    return result.emitOpError("returns logits that no graph.select_rows has selected");
  return success();
}

LogicalResult HostOp::verify() {
  auto table = SymbolTable::lookupNearestSymbolFrom<ResolutionOp>(*this, getResolution());
  // graph.host_op C1
  if (!table || table.getPhase() != "sample" || table.getOpName() != getOpName() ||
      table.getFamily() != getFamily())
    return emitOpError() << "names " << getResolution() << ", which is no resolution of it";
  return success();
}

//===- kernel ops --------------------------------------------------------------------===//

static std::optional<int64_t> dim(DictionaryAttr dimensions, StringRef name) {
  return dimension(dimensions, name);
}

LogicalResult EmbeddingOp::verify() {
  return verifyFloatKernel(*this, getDimensions());
}
LogicalResult EmbeddingOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (failed(verifySymbols(*this, symbols)))
    return failure();
  return verifyWeight(*this, symbols, getWeightAttr(),
                      {*dim(getDimensions(), "vocabulary"), *dim(getDimensions(), "n")});
}

static bool isEpsilon(double epsilon) {
  return epsilon >= 0 && !std::isinf(epsilon);
}

LogicalResult RmsNormOp::verify() {
  double epsilon = getEpsilon().convertToDouble();
  // graph.rms_norm C1
  if (!isEpsilon(epsilon))
    return emitOpError() << "has epsilon " << epsilon << "; it is finite and not negative";
  return verifyFloatKernel(*this, getDimensions());
}
LogicalResult RmsNormOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (failed(verifySymbols(*this, symbols)))
    return failure();
  return verifyWeight(*this, symbols, getWeightAttr(), {*dim(getDimensions(), "n")});
}

LogicalResult LayerNormOp::verify() {
  double epsilon = getEpsilon().convertToDouble();
  // graph.layer_norm C1
  if (!isEpsilon(epsilon))
    return emitOpError() << "has epsilon " << epsilon << "; it is finite and not negative";
  return verifyFloatKernel(*this, getDimensions());
}
LogicalResult LayerNormOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (failed(verifySymbols(*this, symbols)) ||
      failed(verifyWeight(*this, symbols, getWeightAttr(), {*dim(getDimensions(), "n")})))
    return failure();
  return getBias() ? verifyWeight(*this, symbols, getBiasAttr(), {*dim(getDimensions(), "n")})
                   : success();
}

LogicalResult L2NormOp::verify() {
  double epsilon = getEpsilon().convertToDouble();
  // graph.l2_norm C1
  if (!isEpsilon(epsilon))
    return emitOpError() << "has epsilon " << epsilon << "; it is finite and not negative";
  return verifyFloatKernel(*this, getDimensions());
}
LogicalResult L2NormOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifySymbols(*this, symbols);
}

LogicalResult QuantizeActivationOp::verify() {
  if (failed(verifyFloatKernel(*this, getDimensions())))
    return failure();
  // graph.quantize_activation C1
  if (!holdsCodes(getOut()))
    return emitOpError() << "makes " << getOut().getType() << "; it makes codes";
  return success();
}
LogicalResult QuantizeActivationOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifySymbols(*this, symbols);
}

LogicalResult LinearOp::verify() {
  return verifyKernel(*this, getDimensions());
}
LogicalResult LinearOp::verifySymbolUses(SymbolTableCollection &symbols) {
  int64_t n = *dim(getDimensions(), "n"), k = *dim(getDimensions(), "k");
  if (failed(verifySymbols(*this, symbols)) ||
      failed(verifyWeight(*this, symbols, getWeightAttr(), {n, k})))
    return failure();
  return getBias() ? verifyWeight(*this, symbols, getBiasAttr(), {n}) : success();
}

LogicalResult RopeTableOp::verify() {
  // graph.rope_table C1
  if (std::optional<int64_t> dims = dim(getDimensions(), "rope_dims"); dims && *dims % 2 != 0)
    return emitOpError() << "has " << *dims << " rope_dims; they come in pairs";
  return verifyFloatKernel(*this, getDimensions());
}
LogicalResult RopeTableOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (failed(verifySymbols(*this, symbols)))
    return failure();
  return verifyWeight(*this, symbols, getFrequenciesAttr(),
                      {*dim(getDimensions(), "rope_dims") / 2});
}

LogicalResult RopeOp::verify() {
  if (failed(verifyFloatKernel(*this, getDimensions())))
    return failure();
  int64_t dims = *dim(getDimensions(), "rope_dims"), width = *dim(getDimensions(), "head_dim");
  // graph.rope C1
  if (dims % 2 != 0 || dims > width)
    return emitOpError() << "turns " << dims << " of " << width
                         << " dimensions; they come in pairs, within a head";
  return success();
}
LogicalResult RopeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifySymbols(*this, symbols);
}

LogicalResult KvStoreOp::verify() {
  // graph.kv_store C1
  if (getKv().getType() != getNewKv().getType())
    return emitOpError("makes a KV state of another type than it takes");
  return verifyFloatKernel(*this, getDimensions());
}
LogicalResult KvStoreOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyKvUse(*this, symbols);
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyFloatKernel(*this, getDimensions())))
    return failure();
  int64_t heads = *dim(getDimensions(), "heads"), groups = *dim(getDimensions(), "kv_heads");
  // graph.attention C1
  if (heads % groups != 0)
    return emitOpError() << "has " << heads << " heads over " << groups
                         << " KV heads, which do not divide them";
  // graph.attention C2
  if (!std::isfinite(getScale().convertToDouble()))
    return emitOpError("has a scale that is not finite");
  if (!getSoftCap())
    return success();
  double cap = getSoftCap()->convertToDouble();
  // graph.attention C3
  if (!(cap > 0) || std::isinf(cap))
    return emitOpError() << "has soft_cap " << cap << "; it is finite and positive";
  return success();
}
LogicalResult AttentionOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (failed(verifyKvUse(*this, symbols)))
    return failure();
  return getSinks() ? verifyWeight(*this, symbols, getSinksAttr(), {*dim(getDimensions(), "heads")})
                    : success();
}

LogicalResult GateOp::verify() {
  return verifyFloatKernel(*this, getDimensions());
}
LogicalResult GateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifySymbols(*this, symbols);
}

LogicalResult ActivationOp::verify() {
  return verifyFloatKernel(*this, getDimensions());
}
LogicalResult ActivationOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifySymbols(*this, symbols);
}

LogicalResult SoftCapOp::verify() {
  double cap = getCap().convertToDouble();
  // graph.soft_cap C1
  if (!(cap > 0) || std::isinf(cap))
    return emitOpError() << "has cap " << cap << "; it is finite and positive";
  return verifyFloatKernel(*this, getDimensions());
}
LogicalResult SoftCapOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifySymbols(*this, symbols);
}

LogicalResult ResidualOp::verify() {
  return verifyFloatKernel(*this, getDimensions());
}
LogicalResult ResidualOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifySymbols(*this, symbols);
}

LogicalResult SelectRowsOp::verify() {
  // graph.select_rows C1
  if (getInput().getType() != getOut().getType())
    return emitOpError("makes rows of another type than it takes");
  return verifyFloatKernel(*this, getDimensions());
}
LogicalResult SelectRowsOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifySymbols(*this, symbols);
}

//===- fusions --------------------------------------------------------------------===//

LogicalResult RmsNormQuantizeOp::verify() {
  double epsilon = getEpsilon().convertToDouble();
  // graph.rms_norm_quantize C1
  if (!isEpsilon(epsilon))
    return emitOpError() << "has epsilon " << epsilon << "; it is finite and not negative";
  if (failed(verifyFloatKernel(*this, getDimensions())))
    return failure();
  // graph.rms_norm_quantize C2
  if (!holdsCodes(getOut()))
    return emitOpError() << "makes " << getOut().getType() << "; it makes codes";
  return success();
}
LogicalResult RmsNormQuantizeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (failed(verifySymbols(*this, symbols)))
    return failure();
  return verifyWeight(*this, symbols, getWeightAttr(), {*dim(getDimensions(), "n")});
}

LogicalResult GateQuantizeOp::verify() {
  if (failed(verifyFloatKernel(*this, getDimensions())))
    return failure();
  // graph.gate_quantize C1
  if (!holdsCodes(getOut()))
    return emitOpError() << "makes " << getOut().getType() << "; it makes codes";
  return success();
}
LogicalResult GateQuantizeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifySymbols(*this, symbols);
}
