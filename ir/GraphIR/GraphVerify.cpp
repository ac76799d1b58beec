//===- GraphVerify.cpp - the constraints of ir/spec.md on graph -----------===//
#include "ir/GraphIR/Graph.h"
#include "ir/Shared/Families.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringSet.h"

#include <cmath>

using namespace mlir;
using namespace writ;
using namespace writ::graph;

namespace {

bool isPhase(StringRef phase) {
  return phase == "prefill" || phase == "decode" || phase == "sample";
}

/// Every value of `fields` is an AttrT that `accept` takes.
template <typename AttrT>
LogicalResult eachField(Operation *op, DictionaryAttr fields, StringRef what, StringRef rule,
                        llvm::function_ref<bool(AttrT)> accept) {
  for (NamedAttribute field : fields) {
    auto value = dyn_cast<AttrT>(field.getValue());
    if (!value || !accept(value))
      return op->emitOpError() << what << " '" << field.getName().getValue() << "' is "
                               << field.getValue() << "; " << rule;
  }
  return success();
}

LogicalResult dimensionsArePositive(Operation *op, DictionaryAttr dimensions) {
  return eachField<IntegerAttr>(
      op, dimensions, "dimension", "a dimension is a positive i64",
      [](IntegerAttr size) { return size.getType().isSignlessInteger(64) && size.getInt() > 0; });
}

std::optional<int64_t> dimension(DictionaryAttr dimensions, StringRef name) {
  auto size = dimensions.getAs<IntegerAttr>(name);
  return size ? std::optional(size.getInt()) : std::nullopt;
}

std::string dims(ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (int64_t size : shape)
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
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

//===- attributes and types ----------------------------------------------------===//

LogicalResult ExecutionAttr::verify(function_ref<InFlightDiagnostic()> emit, StringRef contract,
                                    StringRef contractSha256, StringRef provider,
                                    StringRef mapSha256, StringRef oracle, StringRef production,
                                    StringRef threaded, StringRef partition, ArrayAttr extent,
                                    int64_t grain, BoolAttr, ArrayAttr isa, DictionaryAttr layouts,
                                    ArrayAttr arguments) {
  // graph.execution C1
  if (contract.empty() || provider.empty() || partition.empty())
    return emit() << "an execution names a contract, a provider and a partition";
  // graph.execution C2
  if (oracle.empty() || production.empty() || threaded.empty() || oracle == production ||
      oracle == threaded || production == threaded)
    return emit() << "an execution names three different functions";
  auto isDigest = [](StringRef text) {
    return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == StringRef::npos;
  };
  // graph.execution C3
  if (!isDigest(contractSha256) || !isDigest(mapSha256))
    return emit() << "a digest is 64 lower-case hexadecimal digits";
  // graph.execution C4
  if (grain < 1)
    return emit() << "grain is " << grain << "; it is at least 1";
  llvm::StringSet<> integers, all;
  for (Attribute attribute : arguments) {
    auto argument = mlir::dyn_cast<ArgumentAttr>(attribute);
    // graph.execution C5
    if (!argument || !all.insert(argument.getName()).second)
      return emit() << "arguments are #graph.argument with different names";
    if (argument.getType() == "i64")
      integers.insert(argument.getName());
  }
  for (Attribute attribute : extent) {
    auto name = mlir::dyn_cast<StringAttr>(attribute);
    // graph.execution C6
    if (!name || !integers.contains(name.getValue()))
      return emit() << "the extent names " << attribute << ", which is no i64 argument";
  }
  // graph.execution C7
  if (!llvm::all_of(isa, [](Attribute body) { return mlir::isa<StringAttr>(body); }) ||
      !llvm::all_of(layouts, [](NamedAttribute l) { return mlir::isa<StringAttr>(l.getValue()); }))
    return emit() << "isa and layouts hold strings";
  return success();
}

LogicalResult KvType::verify(function_ref<InFlightDiagnostic()> emit, StringRef storage,
                             int64_t layers, int64_t heads, int64_t headDim, int64_t window) {
  // graph.kv C1
  if (layers < 1 || heads < 1 || window < 0 || !rowBytes(storage, headDim))
    return emit() << "a KV group has layers, heads, and vectors of a known storage type";
  return success();
}

static std::string textOf(Attribute attribute) {
  std::string text;
  llvm::raw_string_ostream os(text);
  attribute.print(os);
  return text;
}

static std::string argumentNames(ArrayAttr arguments) {
  std::string text = "(";
  for (auto argument : arguments.getAsRange<ArgumentAttr>())
    text += (text.size() > 1 ? ", " : "") + argument.getName().str();
  return text + ")";
}

std::optional<ExecutionAttr::Difference> ExecutionAttr::differenceFrom(ExecutionAttr other) const {
  auto strings = [&](const char *what, StringRef a, StringRef b) -> std::optional<Difference> {
    if (a == b)
      return std::nullopt;
    return Difference{what, "'" + a.str() + "'", "'" + b.str() + "'"};
  };
  auto attributes = [&](const char *what, Attribute a, Attribute b) -> std::optional<Difference> {
    if (a == b)
      return std::nullopt;
    return Difference{what, textOf(a), textOf(b)};
  };
  if (auto d = strings("kernel id", getProvider(), other.getProvider()))
    return d;
  if (auto d = strings("contract id", getContract(), other.getContract()))
    return d;
  if (auto d = strings("partition", getPartition(), other.getPartition()))
    return d;
  if (std::string mine = argumentNames(getArguments()),
      others = argumentNames(other.getArguments());
      mine != others)
    return Difference{"argument order", mine, others};
  if (auto d = attributes("argument list", getArguments(), other.getArguments()))
    return d;
  if (auto d = strings("contract digest", getContractSha256(), other.getContractSha256()))
    return d;
  if (auto d = strings("map digest", getMapSha256(), other.getMapSha256()))
    return d;
  if (auto d = strings("contract oracle", getContractOracle(), other.getContractOracle()))
    return d;
  if (auto d = strings("production function", getProduction(), other.getProduction()))
    return d;
  if (auto d = strings("threaded function", getThreaded(), other.getThreaded()))
    return d;
  if (auto d = attributes("extent", getExtent(), other.getExtent()))
    return d;
  if (getGrain() != other.getGrain())
    return Difference{"grain", std::to_string(getGrain()), std::to_string(other.getGrain())};
  if (auto d =
          attributes("order policy", getSchedulingAltersOrder(), other.getSchedulingAltersOrder()))
    return d;
  if (auto d = attributes("isa", getIsa(), other.getIsa()))
    return d;
  return attributes("layouts", getLayouts(), other.getLayouts());
}

//===- declarations --------------------------------------------------------------===//

LogicalResult ModelOp::verify() {
  // graph.model C1
  if (int64_t(getVocabulary()) < 1 || int64_t(getContextLength()) < 1)
    return emitOpError("has a vocabulary and a context of at least 1");
  // graph.model C2
  if (findOne<ModelOp>(cast<ModuleOp>((*this)->getParentOp())) != *this)
    return emitOpError("stands once in a module");
  return eachField<StringAttr>(*this, getInputs(), "input", "an input's digest is a string",
                               [](StringAttr) { return true; }); // graph.model C3
}

LogicalResult KvGroupOp::verify() {
  uint64_t before = 0;
  for (KvGroupOp group : cast<ModuleOp>((*this)->getParentOp()).getOps<KvGroupOp>()) {
    if (group == *this)
      break;
    ++before;
  }
  // graph.kv_group C1
  if (getIndex() != before)
    return emitOpError() << "has index " << getIndex() << ", but is group " << before;
  return success();
}

LogicalResult WeightOp::verify() {
  int64_t elements = 1;
  for (int64_t size : getShape())
    if (size < 1 || __builtin_mul_overflow(elements, size, &elements))
      elements = 0;
  // graph.weight C1
  if (elements < 1 || getShape().empty() || getShape().size() > 2)
    return emitOpError() << "has shape " << dims(getShape()) << "; a weight is [n, k] or [n]";
  // graph.weight C2
  if (getValues() && getValues()->getNumElements() != elements)
    return emitOpError() << "has " << getValues()->getNumElements() << " values for " << elements
                         << " elements";
  return success();
}

LogicalResult RequirementOp::verify() {
  // graph.requirement C1
  if (!isPhase(getPhase()))
    return emitOpError() << "has phase '" << getPhase() << "'; phases are prefill, decode, sample";
  // graph.requirement C2
  if (getOpName().empty() || getFamily().empty() || getContract().empty() || getTarget().empty())
    return emitOpError("names an op, a family, a contract and a target");
  // graph.requirement C3
  if (failed(dimensionsArePositive(*this, getDimensions())))
    return failure();
  auto filled = [](StringAttr text) { return !text.getValue().empty(); };
  // graph.requirement C4
  if (failed(eachField<StringAttr>(*this, getStorage(), "storage of", "a storage is a name",
                                   filled)) ||
      failed(eachField<StringAttr>(*this, getFamilyAttributes(), "attribute",
                                   "an attribute is a word", filled)) ||
      failed(eachField<StringAttr>(*this, getInputs(), "input", "an input is the name of an op",
                                   filled)) ||
      failed(eachField<FloatAttr>(*this, getNumbers(), "number", "a number is a finite f64",
                                  [](FloatAttr number) {
                                    return number.getType().isF64() && number.getValue().isFinite();
                                  })))
    return failure();
  // graph.requirement C5
  if (bool(getKvGroup()) != bool(getKvLayer()))
    return emitOpError("names a KV group and a layer of it together");
  return success();
}

LogicalResult RequirementOp::verifySymbolUses(SymbolTableCollection &symbols) {
  for (NamedAttribute field : getWeights()) {
    auto symbol = dyn_cast<FlatSymbolRefAttr>(field.getValue());
    auto weight = symbol ? symbols.lookupNearestSymbolFrom<WeightOp>(*this, symbol) : WeightOp();
    // graph.requirement C6
    if (!weight)
      return emitOpError() << "weight '" << field.getName().getValue() << "' is "
                           << field.getValue() << ", which is no weight";
    auto storage = getStorage().getAs<StringAttr>(field.getName());
    // graph.requirement C7
    if (!storage || storage != weight.getStorageAttr())
      return emitOpError() << "requires storage " << storage << " of weight '"
                           << field.getName().getValue() << "', but " << symbol << " is "
                           << weight.getStorageAttr();
  }
  if (!getKvGroup())
    return success();
  auto group = symbols.lookupNearestSymbolFrom<KvGroupOp>(*this, getKvGroupAttr());
  // graph.requirement C8
  if (!group || *getKvLayer() >= uint64_t(cast<KvType>(group.getShape()).getLayers()))
    return emitOpError() << "uses KV layer " << *getKvLayer() << " of " << getKvGroupAttr()
                         << ", which is not there";
  return success();
}

LogicalResult ResolutionsOp::verifyRegions() {
  llvm::StringSet<> seen;
  for (Operation &op : getBody().front()) {
    auto resolution = dyn_cast<ResolutionOp>(op);
    // graph.resolutions C1
    if (!resolution)
      return op.emitOpError("is no graph.resolution");
    // graph.resolutions C2
    if (!seen.insert((resolution.getPhase() + ":" + resolution.getOpName()).str()).second)
      return resolution.emitOpError() << "resolves '" << resolution.getOpName() << "' in "
                                      << resolution.getPhase() << " a second time";
  }
  return success();
}

LogicalResult ResolutionOp::verify() {
  // graph.resolution C1
  if (!isPhase(getPhase()))
    return emitOpError() << "has phase '" << getPhase() << "'; phases are prefill, decode, sample";
  return success();
}

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

LogicalResult RmsNormOp::verify() {
  double epsilon = getEpsilon().convertToDouble();
  // graph.rms_norm C1
  if (!(epsilon >= 0) || std::isinf(epsilon))
    return emitOpError() << "has epsilon " << epsilon << "; it is finite and not negative";
  return verifyFloatKernel(*this, getDimensions());
}
LogicalResult RmsNormOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (failed(verifySymbols(*this, symbols)))
    return failure();
  return verifyWeight(*this, symbols, getWeightAttr(), {*dim(getDimensions(), "n")});
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
  return success();
}
LogicalResult AttentionOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyKvUse(*this, symbols);
}

LogicalResult GateOp::verify() {
  return verifyFloatKernel(*this, getDimensions());
}
LogicalResult GateOp::verifySymbolUses(SymbolTableCollection &symbols) {
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
