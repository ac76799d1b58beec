//===- FuseRequirements.cpp - ops that a fusion of the profile joins ------===//
//
// Where requirements stand as the parts of a fusion that the profile names, they become one. Its
// contract is theirs joined, and it is resolved like any other: a fusion that is on and has no
// provider is refused, never undone. It applies where
//
//   - each inner value is read by the next part alone, once, and is not the model's result,
//   - the parts are of one section and layer,
//   - names that are one in the fusion (the n of a norm, the k of its codes) have one value,
//
// and where it does not, the requirement that ends the group keeps what stands in the way
// (`unfused`). Fusions take their ops in the order of the profile.
//
//===----------------------------------------------------------------------===//
#include "compiler/Passes/BuildRequirements.h"
#include "compiler/Passes/Passes.h"
#include "compiler/Resolve/ReadCatalog.h"
#include "ir/GraphIR/Graph.h"

#include <fmt/format.h>

using namespace mlir;

namespace writ {
namespace {

/// The requirements of one group, by part; null where the ops do not stand so.
using Group = SmallVector<graph::RequirementOp>;

/// Fields of the parts under the fusion's names.
class Merged {
public:
  Merged(MLIRContext *context, const Family &fusion) : builder(context), fusion(fusion) {}

  /// False where two parts have different values under one name.
  bool add(const FamilyPart &part, DictionaryAttr fields) {
    for (NamedAttribute field : fields) {
      const std::string name = part.nameOf(field.getName().str());
      if (fusion.inner.contains(name))
        continue;
      auto [it, isNew] = values.try_emplace(name, field.getValue());
      if (!isNew && it->second != field.getValue()) {
        differing = name;
        return false;
      }
    }
    return true;
  }
  DictionaryAttr get() {
    SmallVector<NamedAttribute> fields;
    for (const auto &[name, value] : values)
      fields.push_back(builder.getNamedAttr(name, value));
    return builder.getDictionaryAttr(fields);
  }

  std::string differing;

private:
  Builder builder;
  const Family &fusion;
  std::map<std::string, Attribute> values;
};

struct FuseRequirements : PassWrapper<FuseRequirements, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FuseRequirements)

  explicit FuseRequirements(const Catalog *catalog) : catalog(catalog) {}
  FuseRequirements(const FuseRequirements &other) : PassWrapper(other), catalog(other.catalog) {}

  StringRef getArgument() const override { return "fuse-requirements"; }
  StringRef getDescription() const override {
    return "join the requirements that a fusion of the profile is made of";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<graph::GraphDialect>();
  }
  void runOnOperation() override {
    try {
      if (catalog)
        return fuseAll(*catalog);
      fuseAll(Catalog::load(CatalogPaths::below(data), {}));
    } catch (const Error &error) {
      for (const writ::Diagnostic &diagnostic : error.diagnostics())
        report(&getContext(), diagnostic);
      signalPassFailure();
    }
  }

private:
  void fuseAll(const Catalog &catalog);
  void fusePhase(const Family &fusion, StringRef phase);
  Group groupEndingAt(graph::RequirementOp last, const Family &fusion);
  std::string obstacle(const Group &group, const Family &fusion);
  void join(const Group &group, const Family &fusion);

  const Catalog *catalog;
  Option<std::string> data{*this, "data", llvm::cl::init("."),
                           llvm::cl::desc("folder of contracts/, kernel_maps/ and circuits/")};
  llvm::StringMap<graph::RequirementOp> makers; ///< of the phase at hand, by op name
  llvm::StringMap<int> readers;                 ///< how many times an op's value is read
};

/// From the last part backwards: each earlier part makes an inner value that a later one reads.
Group FuseRequirements::groupEndingAt(graph::RequirementOp last, const Family &fusion) {
  Group group(fusion.parts.size());
  group.back() = last;
  for (size_t i = fusion.parts.size(); i-- > 0;) {
    if (!group[i] || group[i].getFamily() != fusion.parts[i].family)
      return {};
    for (NamedAttribute input : group[i].getInputs()) {
      const std::string name = fusion.parts[i].nameOf(input.getName().str());
      if (!fusion.inner.contains(name))
        continue;
      for (size_t j = 0; j < i; ++j)
        for (const auto &[own, as] : fusion.parts[j].as)
          if (as == name)
            group[j] = makers.lookup(cast<StringAttr>(input.getValue()).getValue());
    }
  }
  return group;
}

/// What keeps the ops of a group apart, or "".
std::string FuseRequirements::obstacle(const Group &group, const Family &fusion) {
  Merged dimensions(&getContext(), fusion), attributes(&getContext(), fusion);
  Merged numbers(&getContext(), fusion);
  auto model = graph::findOne<graph::ModelOp>(getOperation());
  graph::RequirementOp last = group.back();
  for (size_t i = 0; i < group.size(); ++i) {
    graph::RequirementOp part = group[i];
    if (part.getSection() != last.getSection() || part.getLayer() != last.getLayer())
      return fmt::format("'{}' is of another section or layer", part.getOpName().str());
    if (part != last) {
      if (part.getOpName() == model.getResult())
        return fmt::format("'{}' is the model's result", part.getOpName().str());
      if (const int count = readers.lookup(part.getOpName()); count != 1)
        return fmt::format("'{}' is read by {} ops", part.getOpName().str(), count);
    }
    for (auto [merged, fields] : {std::pair(&dimensions, part.getDimensions()),
                                  {&attributes, part.getFamilyAttributes()},
                                  {&numbers, part.getNumbers()}})
      if (!merged->add(fusion.parts[i], fields))
        return fmt::format("its parts have different '{}'", merged->differing);
  }
  return "";
}

void FuseRequirements::join(const Group &group, const Family &fusion) {
  graph::RequirementOp first = group.front(), last = group.back();
  OpBuilder builder(last);
  Merged storage(&getContext(), fusion), dimensions(&getContext(), fusion);
  Merged attributes(&getContext(), fusion), numbers(&getContext(), fusion);
  Merged inputs(&getContext(), fusion), weights(&getContext(), fusion);
  std::vector<std::string> contracts;
  SmallVector<StringRef> names;
  for (size_t i = 0; i < group.size(); ++i) {
    graph::RequirementOp part = group[i];
    storage.add(fusion.parts[i], part.getStorage());
    dimensions.add(fusion.parts[i], part.getDimensions());
    attributes.add(fusion.parts[i], part.getFamilyAttributes());
    numbers.add(fusion.parts[i], part.getNumbers());
    inputs.add(fusion.parts[i], part.getInputs());
    weights.add(fusion.parts[i], part.getWeights());
    contracts.push_back(part.getContract().str());
    names.push_back(part.getOpName());
  }
  auto joined = builder.create<graph::RequirementOp>(
      first.getLoc(), last.getSymNameAttr(), last.getOpNameAttr(),
      builder.getStringAttr(fusion.name), last.getPhaseAttr(),
      builder.getStringAttr(composedId(contracts)), last.getTargetAttr(), storage.get(),
      dimensions.get(), attributes.get(), numbers.get(), inputs.get(), weights.get(),
      last.getSectionAttr(), last.getLayerAttr(), FlatSymbolRefAttr(), IntegerAttr(),
      builder.getStrArrayAttr(names), StringAttr());
  for (graph::RequirementOp part : group)
    makers.erase(part.getOpName());
  makers[joined.getOpName()] = joined;
  for (graph::RequirementOp part : group)
    part.erase();
}

void FuseRequirements::fusePhase(const Family &fusion, StringRef phase) {
  makers.clear();
  readers.clear();
  SmallVector<graph::RequirementOp> all;
  for (auto op : getOperation().getOps<graph::RequirementOp>()) {
    if (op.getPhase() != phase)
      continue;
    all.push_back(op);
    makers[op.getOpName()] = op;
    for (NamedAttribute input : op.getInputs())
      ++readers[cast<StringAttr>(input.getValue()).getValue()];
  }
  std::vector<Group> groups;
  for (graph::RequirementOp op : all)
    if (op.getFamily() == fusion.parts.back().family)
      if (Group group = groupEndingAt(op, fusion); !group.empty()) {
        if (const std::string why = obstacle(group, fusion); why.empty())
          groups.push_back(group);
        else
          op.setUnfused(fusion.name + ": " + why);
      }
  for (const Group &group : groups)
    join(group, fusion);
}

void FuseRequirements::fuseAll(const Catalog &catalog) {
  auto model = graph::findOne<graph::ModelOp>(getOperation());
  if (!model || graph::findOne<graph::ResolutionsOp>(getOperation())) {
    getOperation().emitError("requirements are fused before they are resolved, in a module with a "
                             "graph.model [E205]");
    return signalPassFailure();
  }
  const auto profile = catalog.profiles().find(model.getProfile().str());
  if (profile == catalog.profiles().end()) {
    model.emitOpError() << "has profile '" << model.getProfile() << "', which is not there [E205]";
    return signalPassFailure();
  }
  for (const std::string &name : profile->second.fusions)
    for (const char *phase : {"prefill", "decode"})
      fusePhase(catalog.families().at(name), phase);
}

} // namespace

std::unique_ptr<Pass> createFuseRequirements(const Catalog *catalog) {
  return std::make_unique<FuseRequirements>(catalog);
}

} // namespace writ
