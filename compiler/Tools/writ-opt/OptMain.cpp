#include "compiler/Tools/writ-opt/OptMain.h"

#include "compiler/Passes/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;

namespace writ {
namespace {

/// Builds the pipeline of the command line with a check after each pass.
LogicalResult addChecked(const MlirOptMainConfig &config, PassManager &passes) {
  PassManager asked(passes.getContext(), passes.getOpAnchorName());
  if (failed(config.setupPassPipeline(asked)))
    return failure();
  auto record = std::make_shared<DecisionRecord>();
  for (Pass &pass : asked.getPasses()) {
    std::string text;
    llvm::raw_string_ostream os(text);
    pass.printAsTextualPipeline(os);
    if (failed(parsePassPipeline(text, passes)))
      return failure();
    passes.addPass(createCheckResolution(pass.getArgument().str(), record));
  }
  return success();
}

} // namespace

int optMain(int argc, char **argv) {
  DialectRegistry registry;
  registry.insert<graph::GraphDialect, lowered::LoweredDialect, call::CallDialect>();
  registerPasses();
  auto [input, output] =
      registerAndParseCLIOptions(argc, argv, "writ-opt: Writ's passes", registry);
  MlirOptMainConfig asked = MlirOptMainConfig::createFromCLOptions();
  MlirOptMainConfig config = asked;
  config.setPassPipelineSetupFn([&](PassManager &passes) { return addChecked(asked, passes); });

  std::string message;
  auto file = openInputFile(input, &message);
  auto result = file ? openOutputFile(output, &message) : nullptr;
  if (!file || !result) {
    llvm::errs() << "writ-opt: error: " << message << "\n";
    return 1;
  }
  if (failed(MlirOptMain(result->os(), std::move(file), registry, config)))
    return 1;
  result->keep();
  return 0;
}

} // namespace writ
