//===- CheckResolution.cpp - a decision cannot change ---------------------===//
#include "compiler/Passes/Passes.h"
#include "compiler/Support/Digest.h"
#include "compiler/Support/Json.h"

using namespace mlir;

namespace writ {
namespace {

nlohmann::json jsonOf(Attribute attribute) {
  if (auto text = dyn_cast<StringAttr>(attribute))
    return text.getValue().str();
  if (auto argument = dyn_cast<graph::ArgumentAttr>(attribute))
    return {{"name", argument.getName().str()},
            {"type", argument.getType().str()},
            {"bind", argument.getBind().str()}};
  nlohmann::json result;
  if (auto array = dyn_cast<ArrayAttr>(attribute)) {
    result = nlohmann::json::array();
    for (Attribute element : array)
      result.push_back(jsonOf(element));
  } else if (auto fields = dyn_cast<DictionaryAttr>(attribute)) {
    result = nlohmann::json::object();
    for (NamedAttribute field : fields)
      result[field.getName().str()] = jsonOf(field.getValue());
  }
  return result;
}

nlohmann::json jsonOf(graph::ExecutionAttr execution) {
  return {{"contract", execution.getContract().str()},
          {"contract_sha256", execution.getContractSha256().str()},
          {"provider", execution.getProvider().str()},
          {"map_sha256", execution.getMapSha256().str()},
          {"contract_oracle", execution.getContractOracle().str()},
          {"production", execution.getProduction().str()},
          {"threaded", execution.getThreaded().str()},
          {"partition", execution.getPartition().str()},
          {"extent", jsonOf(execution.getExtent())},
          {"grain", execution.getGrain()},
          {"scheduling_alters_order", execution.getSchedulingAltersOrder().getValue()},
          {"isa", jsonOf(execution.getIsa())},
          {"layouts", jsonOf(execution.getLayouts())},
          {"arguments", jsonOf(execution.getArguments())}};
}

std::string textOf(Attribute attribute) {
  std::string text;
  llvm::raw_string_ostream os(text);
  attribute.print(os);
  return text;
}

std::string namesOf(ArrayAttr arguments) {
  std::string text = "(";
  for (auto argument : arguments.getAsRange<call::ArgumentAttr>())
    text += (text.size() > 1 ? ", " : "") + argument.getName().str();
  return text + ")";
}

std::string namesOfMap(ArrayAttr arguments) {
  std::string text = "(";
  for (auto argument : arguments.getAsRange<graph::ArgumentAttr>())
    text += (text.size() > 1 ? ", " : "") + argument.getName().str();
  return text + ")";
}

struct CheckResolution : PassWrapper<CheckResolution, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CheckResolution)

  CheckResolution(const std::string &after, std::shared_ptr<DecisionRecord> record)
      : record(std::move(record)) {
    this->after = after;
  }
  CheckResolution(const CheckResolution &other) : PassWrapper(other), record(other.record) {}

  StringRef getArgument() const override { return "check-resolution"; }
  StringRef getDescription() const override {
    return "check that every op keeps the resolution that was fixed for it (E201)";
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    markAllAnalysesPreserved();
    auto table = graph::findOne<graph::ResolutionsOp>(module);
    if (!table) {
      if (record && !record->sha256.empty())
        fail(module->emitError("the module has lost its resolutions"));
      return;
    }
    checkTable(table);
    llvm::StringMap<int> uses;
    module.walk([&](graph::ResolvedOpInterface op) { checkOp(op, table, uses); });
    if (!module.getOps<graph::RequirementOp>().empty())
      return; // no op was made yet
    for (auto resolution : table.getBody().getOps<graph::ResolutionOp>())
      if (int count = uses.lookup(resolution.getSymName()); count != 1)
        fail(resolution.emitError()
             << "resolution " << resolution.getSymName() << " ('" << resolution.getOpName() << "', "
             << resolution.getPhase() << ") is used by " << count << " ops; it fixed exactly one");
  }

private:
  /// Ends a diagnostic: the rule, the code, and the pass to blame.
  void fail(InFlightDiagnostic error) {
    error << " [E201]";
    if (after.empty())
      error.attachNote(UnknownLoc::get(&getContext())) << "the module came to this check so";
    else
      error.attachNote(UnknownLoc::get(&getContext())) << "first changed by '" << after << "'";
    error.report();
    signalPassFailure();
  }

  void checkTable(graph::ResolutionsOp table) {
    std::string actual = resolutionDigest(table);
    if (table.getSha256() != actual)
      fail(table.emitOpError() << "has digest " << actual << ", but it was sealed as "
                               << table.getSha256() << "; later stages must keep it");
    else if (record && !record->sha256.empty() && record->sha256 != actual)
      fail(table.emitOpError() << "has digest " << actual << ", but resolve-providers fixed "
                               << record->sha256 << "; later stages must keep it");
    else if (record)
      record->sha256 = actual;
  }

  void differ(Operation *op, const char *what, const std::string &mine, StringRef resolution,
              const std::string &fixed) {
    fail(op->emitError() << "'" << op->getName().getStringRef() << "' has " << what << " " << mine
                         << ", but resolution " << resolution << " fixed " << fixed
                         << "; later stages must keep it");
  }

  void checkOp(graph::ResolvedOpInterface op, graph::ResolutionsOp table,
               llvm::StringMap<int> &uses) {
    StringRef name = op.getResolution().getLeafReference();
    auto resolution =
        dyn_cast_or_null<graph::ResolutionOp>(SymbolTable::lookupSymbolIn(table, name));
    if (!resolution)
      return fail(op->emitError() << "'" << op->getName().getStringRef() << "' names resolution "
                                  << name << ", which was never fixed");
    ++uses[name];
    graph::ExecutionAttr fixed = resolution.getExecution();
    if (auto difference = op.getResolvedExecution().differenceFrom(fixed))
      return differ(op, difference->what.c_str(), difference->mine, name, difference->others);
    auto kernel = dyn_cast<call::KernelOp>(op.getOperation());
    if (!kernel)
      return;
    if (kernel.getCallee() != fixed.getThreaded())
      return differ(op, "symbol", "'" + kernel.getCallee().str() + "'", name,
                    "'" + fixed.getThreaded().str() + "'");
    std::string mine = namesOf(kernel.getKernelArguments());
    std::string wanted = namesOfMap(fixed.getArguments());
    if (mine != wanted)
      return differ(op, "argument order", mine, name, wanted);
    for (auto [argument, rule] :
         llvm::zip(kernel.getKernelArguments().getAsRange<call::ArgumentAttr>(),
                   fixed.getArguments().getAsRange<graph::ArgumentAttr>()))
      if (argument.getType() != rule.getType())
        return differ(op, "argument type", argument.getType().str(), name, rule.getType().str());
    if (kernel.getExtent() != fixed.getExtent())
      return differ(op, "extent", textOf(kernel.getExtent()), name, textOf(fixed.getExtent()));
    if (int64_t(kernel.getGrain()) != fixed.getGrain())
      return differ(op, "grain", std::to_string(kernel.getGrain()), name,
                    std::to_string(fixed.getGrain()));
  }

  std::shared_ptr<DecisionRecord> record;
  Option<std::string> after{*this, "after", llvm::cl::init(""),
                            llvm::cl::desc("the pass that ran before this check")};
};

} // namespace

std::string resolutionDigest(graph::ResolutionsOp table) {
  nlohmann::json entries = nlohmann::json::array();
  for (auto resolution : table.getBody().getOps<graph::ResolutionOp>())
    entries.push_back({{"name", resolution.getSymName().str()},
                       {"op", resolution.getOpName().str()},
                       {"family", resolution.getFamily().str()},
                       {"phase", resolution.getPhase().str()},
                       {"execution", jsonOf(resolution.getExecution())}});
  return sha256Json(entries);
}

std::unique_ptr<Pass> createCheckResolution(const std::string &after,
                                            std::shared_ptr<DecisionRecord> record) {
  return std::make_unique<CheckResolution>(after, std::move(record));
}

} // namespace writ
