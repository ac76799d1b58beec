//===- ConvertRequirementsToGraph.cpp - what is computed ------------------===//
#include "compiler/Passes/Passes.h"
#include "ir/Shared/Families.h"

using namespace mlir;

namespace writ {
namespace {

struct ConvertRequirementsToGraph
    : PassWrapper<ConvertRequirementsToGraph, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ConvertRequirementsToGraph)

  StringRef getArgument() const override { return "convert-requirements-to-graph"; }
  StringRef getDescription() const override {
    return "build GraphIR from resolved requirements: an entry for each phase";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<graph::GraphDialect>();
  }
  void runOnOperation() override;

private:
  LogicalResult buildEntry(StringRef phase);
  LogicalResult buildOp(graph::RequirementOp requirement, OpBuilder &builder);
  LogicalResult buildHostOp(graph::RequirementOp requirement, OpBuilder &builder);
  FailureOr<SmallVector<Value>> operandsOf(graph::RequirementOp requirement,
                                           const FamilyShape &shape);
  FailureOr<Type> resultOf(graph::RequirementOp requirement, const FamilyShape &shape);
  FlatSymbolRefAttr weightIn(FlatSymbolRefAttr weight, StringAttr layout);
  graph::ResolutionOp resolutionOf(graph::RequirementOp requirement);
  SymbolRefAttr reference(graph::ResolutionOp resolution) {
    return SymbolRefAttr::get(table.getSymNameAttr(),
                              {FlatSymbolRefAttr::get(resolution.getSymNameAttr())});
  }

  graph::ResolutionsOp table;
  llvm::StringMap<Value> values;            ///< of the entry at hand, by op name
  llvm::MapVector<Attribute, Value> states; ///< KV group symbol → latest state
  Value rows;
};

graph::ResolutionOp ConvertRequirementsToGraph::resolutionOf(graph::RequirementOp requirement) {
  auto found = dyn_cast_or_null<graph::ResolutionOp>(
      SymbolTable::lookupSymbolIn(table, requirement.getSymName()));
  if (!found)
    requirement.emitOpError("has no resolution; run resolve-providers first [E205]");
  return found;
}

/// The declaration of `weight` in `layout`. One tensor lies in the package once for each layout.
FlatSymbolRefAttr ConvertRequirementsToGraph::weightIn(FlatSymbolRefAttr weight,
                                                       StringAttr layout) {
  ModuleOp module = getOperation();
  auto declared = cast<graph::WeightOp>(SymbolTable::lookupSymbolIn(module, weight.getAttr()));
  if (!declared.getLayoutAttr())
    declared.setLayoutAttr(layout);
  if (declared.getLayoutAttr() == layout)
    return weight;
  std::string name = (declared.getSymName() + "." + layout.getValue()).str();
  if (!SymbolTable::lookupSymbolIn(module, name)) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfter(declared);
    auto copy = cast<graph::WeightOp>(builder.clone(*declared));
    copy.setSymName(name);
    copy.setLayoutAttr(layout);
  }
  return FlatSymbolRefAttr::get(&getContext(), name);
}

FailureOr<SmallVector<Value>>
ConvertRequirementsToGraph::operandsOf(graph::RequirementOp requirement, const FamilyShape &shape) {
  SmallVector<Value> operands;
  if (shape.readsRows)
    operands.push_back(rows);
  for (const OperandShape &input : shape.inputs) {
    auto source = requirement.getInputs().getAs<StringAttr>(StringRef(input.name));
    if (!source)
      return requirement.emitOpError()
             << "names no input '" << input.name << "' of family '" << shape.family << "' [E205]";
    Value value = values.lookup(source.getValue());
    if (!value)
      return requirement.emitOpError() << "reads " << source << " in " << requirement.getPhase()
                                       << ", but no requirement before it makes that [E205]";
    operands.push_back(value);
  }
  if (!shape.readsKv)
    return operands;
  auto state = states.find(requirement.getKvGroupAttr());
  if (state == states.end())
    return requirement.emitOpError() << "names no KV group; its family needs one [E205]";
  operands.push_back(state->second);
  return operands;
}

FailureOr<Type> ConvertRequirementsToGraph::resultOf(graph::RequirementOp requirement,
                                                     const FamilyShape &shape) {
  if (shape.writesKv)
    return states.find(requirement.getKvGroupAttr())->second.getType();
  const OperandShape &out = shape.outputs[0];
  auto storage = requirement.getStorage().getAs<StringAttr>(StringRef(out.name));
  std::optional<int64_t> width =
      rowWidth(out, [&](std::string_view name) -> std::optional<int64_t> {
        auto size = requirement.getDimensions().getAs<IntegerAttr>(StringRef(name));
        return size ? std::optional(size.getInt()) : std::nullopt;
      });
  if (!storage || !width || *width < 1)
    return requirement.emitOpError()
           << "gives no storage or no width of '" << out.name << "' [E205]";
  return Type(graph::tensorOf(&getContext(), storage.getValue(), *width));
}

LogicalResult ConvertRequirementsToGraph::buildOp(graph::RequirementOp requirement,
                                                  OpBuilder &builder) {
  const FamilyShape *shape = findFamilyShape(requirement.getFamily());
  if (!shape)
    return requirement.emitOpError()
           << "has family '" << requirement.getFamily() << "', which GraphIR has no op for [E205]";
  graph::ResolutionOp resolution = resolutionOf(requirement);
  if (!resolution)
    return failure();
  auto operands = operandsOf(requirement, *shape);
  if (failed(operands))
    return failure();
  auto type = resultOf(requirement, *shape);
  if (failed(type))
    return failure();
  OperationState state(requirement.getLoc(), ("graph." + requirement.getFamily()).str());
  state.addOperands(*operands);
  state.addTypes(*type);
  for (NamedAttribute field : requirement.getWeights()) {
    auto layout = resolution.getExecution().getLayouts().getAs<StringAttr>(field.getName());
    if (!layout)
      return requirement.emitOpError() << "has weight '" << field.getName().getValue()
                                       << "', but its provider names no layout for it [E205]";
    state.addAttribute(field.getName(),
                       weightIn(cast<FlatSymbolRefAttr>(field.getValue()), layout));
  }
  state.addAttributes(requirement.getFamilyAttributes().getValue());
  state.addAttributes(requirement.getNumbers().getValue());
  if (shape->readsKv) {
    state.addAttribute("kv_group", requirement.getKvGroupAttr());
    state.addAttribute("kv_layer", requirement.getKvLayerAttr());
  }
  state.addAttribute("dimensions", requirement.getDimensionsAttr());
  state.addAttribute("op_name", requirement.getOpNameAttr());
  state.addAttribute("section", requirement.getSectionAttr());
  if (requirement.getLayerAttr())
    state.addAttribute("layer", requirement.getLayerAttr());
  state.addAttribute("resolution", reference(resolution));
  state.addAttribute("resolved_execution", resolution.getExecution());
  // What the family lacks is found here, before an op could exist without it.
  for (StringAttr name : state.name.getRegisteredInfo()->getAttributeNames()) {
    bool optional = name.getValue() == "layer" ||
                    llvm::is_contained(shape->optionalWeights, std::string_view(name.getValue())) ||
                    llvm::is_contained(shape->optionalNumbers, std::string_view(name.getValue()));
    if (!optional && !state.attributes.get(name))
      return requirement.emitOpError()
             << "gives no '" << name.getValue() << "', which its family needs [E205]";
  }
  Value result = builder.create(state)->getResult(0);
  if (shape->writesKv)
    states[requirement.getKvGroupAttr()] = result;
  else
    values[requirement.getOpName()] = result;
  return success();
}

LogicalResult ConvertRequirementsToGraph::buildEntry(StringRef phase) {
  ModuleOp module = getOperation();
  auto model = graph::findOne<graph::ModelOp>(module);
  OpBuilder builder(&getContext());
  builder.setInsertionPointToEnd(module.getBody());
  auto entry = builder.create<graph::EntryOp>(builder.getUnknownLoc(), phase);
  Block *block = builder.createBlock(&entry.getBody());
  values.clear();
  states.clear();
  rows = block->addArgument(graph::RowsType::get(&getContext()), builder.getUnknownLoc());
  for (auto group : module.getOps<graph::KvGroupOp>())
    states[FlatSymbolRefAttr::get(group.getSymNameAttr())] =
        block->addArgument(group.getShape(), group.getLoc());
  for (auto requirement : module.getOps<graph::RequirementOp>())
    if (requirement.getPhase() == phase && failed(buildOp(requirement, builder)))
      return failure();
  Value logits = values.lookup(model.getResult());
  if (!logits)
    return model.emitOpError() << "has result '" << model.getResult()
                               << "', but no requirement makes that in " << phase << " [E205]";
  SmallVector<Value> results{logits};
  for (auto &[group, state] : states)
    results.push_back(state);
  builder.create<graph::ReturnOp>(builder.getUnknownLoc(), results);
  return success();
}

LogicalResult ConvertRequirementsToGraph::buildHostOp(graph::RequirementOp requirement,
                                                      OpBuilder &builder) {
  graph::ResolutionOp resolution = resolutionOf(requirement);
  if (!resolution)
    return failure();
  builder.create<graph::HostOp>(requirement.getLoc(), requirement.getOpName(),
                                requirement.getFamily(), requirement.getDimensions(),
                                reference(resolution), resolution.getExecution());
  return success();
}

void ConvertRequirementsToGraph::runOnOperation() {
  ModuleOp module = getOperation();
  table = graph::findOne<graph::ResolutionsOp>(module);
  if (!table || !graph::findOne<graph::ModelOp>(module)) {
    module.emitError("the module has no graph.model or no graph.resolutions; run "
                     "resolve-providers first [E205]");
    return signalPassFailure();
  }
  if (failed(buildEntry("prefill")) || failed(buildEntry("decode")))
    return signalPassFailure();
  OpBuilder builder(&getContext());
  builder.setInsertionPointToEnd(module.getBody());
  for (auto requirement : module.getOps<graph::RequirementOp>())
    if (requirement.getPhase() == "sample" && failed(buildHostOp(requirement, builder)))
      return signalPassFailure();
  for (auto requirement : llvm::make_early_inc_range(module.getOps<graph::RequirementOp>()))
    requirement.erase();
}

} // namespace

std::unique_ptr<Pass> createConvertRequirementsToGraph() {
  return std::make_unique<ConvertRequirementsToGraph>();
}

} // namespace writ
