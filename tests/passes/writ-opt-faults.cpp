//===- writ-opt-faults.cpp - writ-opt with passes that seed faults --------===//
//
// --seed-fault=what=WHAT changes one decision of a module, as a faulty pass would:
// - a field of #graph.execution by its name, of the first op whose execution then differs
//   (`arguments` changes their order, `argument-type` the type of one);
// - `call-symbol`, `call-arguments`, `call-argument-type`, `call-extent`, `call-grain`: what the
//   first call.kernel says itself;
// - `lost` drops the first call.kernel, `table` changes the table with its digest, `digest` the
//   table alone.
//
//===----------------------------------------------------------------------===//
#include "compiler/Passes/Passes.h"
#include "compiler/Tools/writ-opt/OptMain.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace writ;

namespace {

/// `e` with one field changed such that its verifier still takes it, or `e` itself.
graph::ExecutionAttr changed(graph::ExecutionAttr e, StringRef what) {
  Builder builder(e.getContext());
  auto text = [&](StringRef field, StringRef value) {
    return what == field ? StringRef("another") : value;
  };
  const std::string zeros(64, '0');
  auto digest = [&](StringRef field, StringRef value) {
    return what == field ? StringRef(zeros) : value;
  };
  SmallVector<Attribute> arguments(e.getArguments().begin(), e.getArguments().end());
  auto last = cast<graph::ArgumentAttr>(arguments.back());
  if (what == "arguments")
    std::swap(arguments[0], arguments[1]);
  if (what == "argument-type")
    arguments.back() =
        graph::ArgumentAttr::get(e.getContext(), last.getName(), "f32", last.getBind());
  return graph::ExecutionAttr::get(
      e.getContext(), text("contract", e.getContract()),
      digest("contract_sha256", e.getContractSha256()), text("provider", e.getProvider()),
      digest("map_sha256", e.getMapSha256()), text("contract_oracle", e.getContractOracle()),
      text("production", e.getProduction()), text("threaded", e.getThreaded()),
      text("partition", e.getPartition()),
      what == "extent" ? builder.getStrArrayAttr({last.getName()}) : e.getExtent(),
      e.getGrain() + (what == "grain" ? 1 : 0),
      builder.getBoolAttr(e.getSchedulingAltersOrder().getValue() !=
                          (what == "scheduling_alters_order")),
      what == "isa" ? builder.getStrArrayAttr({"another"}) : e.getIsa(),
      what == "layouts" ? builder.getDictionaryAttr(
                              builder.getNamedAttr("weight", builder.getStringAttr("another")))
                        : e.getLayouts(),
      builder.getArrayAttr(arguments));
}

struct SeedFault : PassWrapper<SeedFault, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SeedFault)
  SeedFault() = default;
  SeedFault(const SeedFault &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "seed-fault"; }
  StringRef getDescription() const override { return "change one decision (for tests)"; }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto table = graph::findOne<graph::ResolutionsOp>(module);
    if (what == "table" || what == "digest") {
      auto first = *table.getBody().getOps<graph::ResolutionOp>().begin();
      first.setExecutionAttr(changed(first.getExecution(), "provider"));
      if (what == "table") {
        module.walk([&](graph::ResolvedOpInterface op) {
          if (op.getResolution().getLeafReference() == first.getSymName())
            op->setAttr("resolved_execution", first.getExecution());
        });
        table.setSha256(resolutionDigest(table));
      }
      return;
    }
    module.walk([&](call::KernelOp kernel) {
      return seed(kernel) ? WalkResult::interrupt() : WalkResult::advance();
    });
    module.walk([&](graph::ResolvedOpInterface op) {
      graph::ExecutionAttr other = changed(op.getResolvedExecution(), what);
      if (other == op.getResolvedExecution())
        return WalkResult::advance();
      op->setAttr("resolved_execution", other);
      return WalkResult::interrupt();
    });
  }

private:
  bool seed(call::KernelOp kernel) {
    OpBuilder builder(kernel);
    SmallVector<Attribute> arguments(kernel.getKernelArguments().begin(),
                                     kernel.getKernelArguments().end());
    if (what == "call-symbol")
      kernel.setCallee("another_threaded");
    else if (what == "call-grain")
      kernel.setGrain(kernel.getGrain() + 1);
    else if (what == "call-extent")
      kernel.setExtentAttr(builder.getStrArrayAttr({nameOf(arguments.back())}));
    else if (what == "call-arguments")
      std::swap(arguments[0], arguments[1]);
    else if (what == "call-argument-type")
      outputsAsInputs(arguments);
    else if (what == "lost")
      kernel.erase();
    else
      return false;
    if (what == "call-arguments" || what == "call-argument-type")
      kernel.setKernelArgumentsAttr(builder.getArrayAttr(arguments));
    return true;
  }

  static StringRef nameOf(Attribute argument) {
    return cast<call::ArgumentAttr>(argument).getName();
  }

  /// A buffer is a value of either type, so that the module still verifies.
  static void outputsAsInputs(SmallVectorImpl<Attribute> &arguments) {
    for (Attribute &each : arguments)
      if (auto argument = cast<call::ArgumentAttr>(each); argument.getType() == "output")
        each = call::ArgumentAttr::get(argument.getContext(), argument.getName(), "input",
                                       argument.getValue());
  }

  Option<std::string> what{*this, "what", llvm::cl::init("provider"),
                           llvm::cl::desc("which field of the decision")};
};

} // namespace

int main(int argc, char **argv) {
  registerPass([]() -> std::unique_ptr<Pass> { return std::make_unique<SeedFault>(); });
  return optMain(argc, argv);
}
