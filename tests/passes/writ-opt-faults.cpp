//===- writ-opt-faults.cpp - writ-opt with passes that seed faults --------===//
//
// --seed-fault=what=WHAT changes one decision of a module, as a faulty pass would: `kernel`,
// `contract`, `partition`, `arguments`, `map` (of the first op that has a resolution), `symbol`,
// `order`, `grain` (of the first call.kernel), `lost` (drops the last op of an entry), `table` (the
// table, with its digest), `digest` (the table alone).
//
//===----------------------------------------------------------------------===//
#include "compiler/Passes/Passes.h"
#include "compiler/Tools/writ-opt/OptMain.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace writ;

namespace {

graph::ExecutionAttr changed(graph::ExecutionAttr e, StringRef what) {
  SmallVector<Attribute> arguments(e.getArguments().begin(), e.getArguments().end());
  if (what == "arguments")
    std::swap(arguments[0], arguments[1]);
  auto pick = [&](StringRef field, StringRef value) {
    return what == field ? StringRef("another") : value;
  };
  return graph::ExecutionAttr::get(
      e.getContext(), pick("contract", e.getContract()), e.getContractSha256(),
      pick("kernel", e.getProvider()),
      what == "map" ? StringRef(e.getContractSha256()) : e.getMapSha256(), e.getContractOracle(),
      e.getProduction(), e.getThreaded(), pick("partition", e.getPartition()), e.getExtent(),
      e.getGrain(), e.getSchedulingAltersOrder(), e.getIsa(), e.getLayouts(),
      ArrayAttr::get(e.getContext(), arguments));
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
      first.setExecutionAttr(changed(first.getExecution(), "kernel"));
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
    if (what == "symbol")
      kernel.setCallee("another_threaded");
    else if (what == "grain")
      kernel.setGrain(kernel.getGrain() + 1);
    else if (what == "order") {
      std::swap(arguments[0], arguments[1]);
      kernel.setKernelArgumentsAttr(builder.getArrayAttr(arguments));
    } else if (what == "lost")
      kernel.erase();
    else
      return false;
    return true;
  }

  Option<std::string> what{*this, "what", llvm::cl::init("kernel"),
                           llvm::cl::desc("which field of the decision")};
};

} // namespace

int main(int argc, char **argv) {
  registerPass([]() -> std::unique_ptr<Pass> { return std::make_unique<SeedFault>(); });
  return optMain(argc, argv);
}
