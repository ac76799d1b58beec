//===- ResolveProviders.cpp - exactly one provider for each requirement ---===//
#include "compiler/Passes/BuildRequirements.h"
#include "compiler/Passes/Passes.h"
#include "compiler/Resolve/Resolver.h"
#include "compiler/Support/Digest.h"

#include <set>

using namespace mlir;

namespace writ {
namespace {

std::map<std::string, std::string> words(DictionaryAttr fields) {
  std::map<std::string, std::string> result;
  for (NamedAttribute field : fields)
    result[field.getName().str()] = cast<StringAttr>(field.getValue()).getValue().str();
  return result;
}

Requirement requirementOf(graph::RequirementOp op, const CatalogPaths &paths) {
  Requirement requirement;
  requirement.op = op.getFamily().str();
  requirement.name = op.getOpName().str();
  requirement.phase = op.getPhase().str();
  requirement.contract = op.getContract().str();
  requirement.target = op.getTarget().str();
  requirement.storage = words(op.getStorage());
  requirement.attributes = words(op.getFamilyAttributes());
  for (NamedAttribute field : op.getDimensions())
    requirement.dimensions[field.getName().str()] = cast<IntegerAttr>(field.getValue()).getInt();
  if (auto parts = op.getParts())
    for (auto part : parts->getAsRange<StringAttr>())
      requirement.parts.push_back(part.getValue().str());
  requirement.unfused = op.getUnfused().value_or("").str();
  requirement.location = fromMlir(op.getLoc());
  if (!requirement.location.file.empty())
    requirement.location.file = actualFile(paths, requirement.location.file);
  return requirement;
}

graph::ExecutionAttr executionOf(MLIRContext *context, const Resolution &resolution,
                                 const KernelMap &map) {
  Builder builder(context);
  auto strings = [&](const std::vector<std::string> &names) {
    SmallVector<StringRef> refs(names.begin(), names.end());
    return builder.getStrArrayAttr(refs);
  };
  SmallVector<NamedAttribute> layouts;
  for (const auto &[name, operand] : map.operands)
    if (!operand.layout.empty())
      layouts.push_back(builder.getNamedAttr(name, builder.getStringAttr(operand.layout)));
  SmallVector<Attribute> arguments;
  for (const MapArgument &argument : map.arguments)
    arguments.push_back(
        graph::ArgumentAttr::get(context, argument.name, argument.type, argument.bind));
  return graph::ExecutionAttr::getChecked(
      [&] { return emitError(UnknownLoc::get(context)) << "provider '" << map.id << "': "; },
      context, StringRef(resolution.contract), StringRef(resolution.contractDigest),
      StringRef(resolution.provider), StringRef(resolution.mapDigest),
      StringRef(resolution.contractOracle), StringRef(resolution.production),
      StringRef(resolution.threaded), StringRef(resolution.partition), strings(resolution.extent),
      resolution.grain, builder.getBoolAttr(resolution.schedulingAltersOrder),
      strings(resolution.isa), builder.getDictionaryAttr(layouts), builder.getArrayAttr(arguments));
}

/// What is reported once: the layers of a model fail alike, at one place of the circuit; only the
/// op's name and phase differ.
std::string siteOf(const writ::Diagnostic &diagnostic) {
  return diagnostic.code + toString(diagnostic.location) +
         diagnostic.message.substr(0, diagnostic.message.find(" (op '"));
}

struct ResolveProviders : PassWrapper<ResolveProviders, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ResolveProviders)

  explicit ResolveProviders(const Catalog *catalog) : catalog(catalog) {}
  ResolveProviders(const ResolveProviders &other) : PassWrapper(other), catalog(other.catalog) {}

  StringRef getArgument() const override { return "resolve-providers"; }
  StringRef getDescription() const override {
    return "resolve each graph.requirement to exactly one provider, or fail (E101, E102)";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<graph::GraphDialect>();
  }

  void runOnOperation() override {
    try {
      if (catalog)
        return resolveAll(*catalog);
      Catalog read =
          Catalog::load({data + "/contracts", data + "/kernel_maps", data + "/circuits"}, {});
      resolveAll(read);
    } catch (const Error &error) {
      for (const writ::Diagnostic &diagnostic : error.diagnostics())
        report(&getContext(), diagnostic);
      signalPassFailure();
    }
  }

private:
  void resolveAll(const Catalog &catalog);

  const Catalog *catalog;
  Option<std::string> data{*this, "data", llvm::cl::init("."),
                           llvm::cl::desc("folder of contracts/, kernel_maps/ and circuits/")};
};

void ResolveProviders::resolveAll(const Catalog &catalog) {
  ModuleOp module = getOperation();
  OpBuilder builder(&getContext());
  if (graph::findOne<graph::ResolutionsOp>(module)) {
    module.emitError("the module is resolved already; a decision cannot change [E201]");
    return signalPassFailure();
  }
  builder.setInsertionPointToEnd(module.getBody());
  auto table =
      builder.create<graph::ResolutionsOp>(builder.getUnknownLoc(), "resolutions", StringRef());
  builder.createBlock(&table.getBody());
  std::set<std::string> reported;
  for (auto op : module.getOps<graph::RequirementOp>()) {
    Requirement requirement = requirementOf(op, catalog.paths());
    try {
      Resolution resolution = resolve(catalog, requirement);
      auto execution =
          executionOf(&getContext(), resolution, catalog.kernelMaps().at(resolution.provider));
      if (!execution)
        return signalPassFailure();
      builder.create<graph::ResolutionOp>(op.getLoc(), op.getSymName(), op.getOpName(),
                                          op.getFamily(), op.getPhase(), execution);
    } catch (const Error &error) {
      signalPassFailure();
      for (const writ::Diagnostic &diagnostic : error.diagnostics())
        if (reported.insert(siteOf(diagnostic)).second)
          report(&getContext(), diagnostic);
    }
  }
  table.setSha256(resolutionDigest(table));
}

/// The inverse of executionOf.
Resolution resolutionOf(graph::ExecutionAttr execution) {
  auto strings = [](ArrayAttr names) {
    std::vector<std::string> result;
    for (auto name : names.getAsRange<StringAttr>())
      result.push_back(name.getValue().str());
    return result;
  };
  Resolution resolution;
  resolution.contract = execution.getContract().str();
  resolution.contractDigest = execution.getContractSha256().str();
  resolution.provider = execution.getProvider().str();
  resolution.mapDigest = execution.getMapSha256().str();
  resolution.contractOracle = execution.getContractOracle().str();
  resolution.production = execution.getProduction().str();
  resolution.threaded = execution.getThreaded().str();
  resolution.partition = execution.getPartition().str();
  resolution.extent = strings(execution.getExtent());
  resolution.grain = execution.getGrain();
  resolution.schedulingAltersOrder = execution.getSchedulingAltersOrder().getValue();
  resolution.isa = strings(execution.getIsa());
  return resolution;
}

} // namespace

std::vector<Requirement> requirementsOf(ModuleOp module, const Catalog &catalog) {
  std::vector<Requirement> all;
  for (auto requirement : module.getOps<graph::RequirementOp>())
    all.push_back(requirementOf(requirement, catalog.paths()));
  return all;
}

std::vector<ResolvedRequirement> resolvedRequirements(ModuleOp module, const Catalog &catalog) {
  std::vector<ResolvedRequirement> all;
  auto table = graph::findOne<graph::ResolutionsOp>(module);
  for (auto requirement : module.getOps<graph::RequirementOp>())
    if (auto resolution = dyn_cast_or_null<graph::ResolutionOp>(
            SymbolTable::lookupSymbolIn(table, requirement.getSymName())))
      all.push_back(
          {requirementOf(requirement, catalog.paths()), resolutionOf(resolution.getExecution())});
  return all;
}

std::vector<ResolvedOp> resolvedOps(ModuleOp module) {
  std::vector<ResolvedOp> all;
  if (auto table = graph::findOne<graph::ResolutionsOp>(module))
    for (auto entry : table.getBody().getOps<graph::ResolutionOp>())
      all.push_back({entry.getOpName().str(), entry.getPhase().str(), fromMlir(entry.getLoc()),
                     resolutionOf(entry.getExecution())});
  return all;
}

std::unique_ptr<Pass> createResolveProviders(const Catalog *catalog) {
  return std::make_unique<ResolveProviders>(catalog);
}

} // namespace writ
