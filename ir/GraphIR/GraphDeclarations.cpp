//===- GraphDeclarations.cpp - ir/spec.md on attributes and declarations --===//
#include "ir/GraphIR/GraphFields.h"
#include "ir/Shared/Families.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace writ;
using namespace writ::graph;

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
