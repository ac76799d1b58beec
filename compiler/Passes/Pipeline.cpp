//===- Pipeline.cpp - the compiler from circuit instance to CallIR --------===//
#include "compiler/Passes/Pipeline.h"

#include "compiler/Emit/ReadCall.h"
#include "compiler/Passes/BuildRequirements.h"
#include "compiler/Passes/Passes.h"
#include "compiler/Support/Digest.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace writ {
namespace {

/// Collects MLIR's diagnostics as Writ's. A message ends with its code, "… [E201]"; what the
/// verifier or the parser says has none of its own and is E203.
class Collector {
public:
  explicit Collector(MLIRContext *context)
      : handler(context, [this](mlir::Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
            all.push_back(convert(diagnostic));
          return success();
        }) {}

  /// Throws what was collected; `failed` without a diagnostic is a fault of the compiler itself.
  void finish(bool failed, const char *stage) {
    if (!failed && all.empty())
      return;
    if (all.empty())
      all.push_back({{}, "E203", std::string(stage) + " failed without a diagnostic", {}});
    throw Error(std::move(all));
  }

private:
  static writ::Diagnostic convert(mlir::Diagnostic &diagnostic) {
    writ::Diagnostic result{fromMlir(diagnostic.getLocation()), "E203", diagnostic.str(), {}};
    std::string &text = result.message;
    size_t open = text.rfind(" [E");
    if (open != std::string::npos && text.ends_with("]")) {
      result.code = text.substr(open + 2, text.size() - open - 3);
      text.resize(open);
    }
    for (mlir::Diagnostic &note : diagnostic.getNotes())
      result.notes.push_back({fromMlir(note.getLocation()), note.str()});
    return result;
  }

  std::vector<writ::Diagnostic> all;
  ScopedDiagnosticHandler handler;
};

DialectRegistry dialects() {
  DialectRegistry registry;
  registry.insert<graph::GraphDialect, lowered::LoweredDialect, call::CallDialect>();
  return registry;
}

} // namespace

void registerPasses() {
  registerPass([] { return createFuseRequirements(); });
  registerPass([] { return createResolveProviders(); });
  registerPass([] { return createConvertRequirementsToGraph(); });
  registerPass([] { return createConvertGraphToLowered(); });
  registerPass([] { return createConvertLoweredToCall(); });
  registerPass([] { return createCheckResolution(); });
}

struct Compilation::State {
  State() : context(dialects(), MLIRContext::Threading::DISABLED) {
    context.loadAllAvailableDialects();
    context.printOpOnDiagnostic(false); // positions are the user's, not the IR's
  }

  /// Null: the check alone.
  void run(std::unique_ptr<Pass> pass);

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::shared_ptr<DecisionRecord> record = std::make_shared<DecisionRecord>();
  std::vector<ResolvedRequirement> resolutions;
};

void Compilation::State::run(std::unique_ptr<Pass> pass) {
  if (!module)
    throw Error({}, "E203", "no module: build or parse one first");
  const std::string name = pass ? pass->getArgument().str() : "";
  Collector collector(&context);
  PassManager passes(&context);
  if (pass)
    passes.addPass(std::move(pass));
  passes.addPass(createCheckResolution(name, record));
  collector.finish(failed(passes.run(*module)), name.empty() ? "check-resolution" : name.c_str());
}

Compilation::Compilation() : state(std::make_unique<State>()) {}
Compilation::~Compilation() = default;
Compilation::Compilation(Compilation &&) noexcept = default;
Compilation &Compilation::operator=(Compilation &&) noexcept = default;

void Compilation::buildRequirements(const CircuitInstance &instance, const Catalog &catalog,
                                    const Profile &profile, const BuildOptions &options) {
  *state->record = {};
  state->resolutions.clear();
  Collector collector(&state->context);
  state->module = writ::buildRequirements(&state->context, instance, catalog, profile, options);
  collector.finish(failed(mlir::verify(*state->module)), "building requirements");
  state->run(createFuseRequirements(&catalog));
}

std::vector<Requirement> Compilation::requirements(const Catalog &catalog) const {
  return requirementsOf(*state->module, catalog);
}

void Compilation::resolve(const Catalog &catalog) {
  state->run(createResolveProviders(&catalog));
  state->resolutions = resolvedRequirements(*state->module, catalog);
}

void Compilation::buildGraph() {
  state->run(createConvertRequirementsToGraph());
}

void Compilation::lower(PackedBytes packedBytes) {
  state->run(createConvertGraphToLowered(std::move(packedBytes)));
}

void Compilation::toCall() {
  state->run(createConvertLoweredToCall());
}

void Compilation::run(const Catalog &catalog) {
  resolve(catalog);
  buildGraph();
  lower();
  toCall();
}

std::string Compilation::text() const {
  if (!state->module)
    return {};
  std::string text;
  llvm::raw_string_ostream os(text);
  state->module->print(os, OpPrintingFlags().enableDebugInfo());
  return text + "\n"; // as writ-opt ends it
}

void Compilation::parse(std::string_view text, const std::string &fileName) {
  Collector collector(&state->context);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, fileName), llvm::SMLoc());
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &state->context);
  collector.finish(!module, "reading IR");
  state->module = std::move(module);
  *state->record = {};
  state->resolutions.clear();
}

void Compilation::checkResolution() {
  state->run(nullptr);
}

std::vector<ResolvedOp> Compilation::resolvedOps() const {
  return state->module ? writ::resolvedOps(*state->module) : std::vector<ResolvedOp>();
}

const std::vector<ResolvedRequirement> &Compilation::resolutions() const {
  return state->resolutions;
}

std::string Compilation::resolutionDigest() const {
  auto table =
      state->module ? graph::findOne<graph::ResolutionsOp>(*state->module) : graph::ResolutionsOp();
  return table ? table.getSha256().str() : "";
}

CallModel Compilation::callModel() const {
  if (!state->module)
    throw Error({}, "E204", "no module: only CallIR can be emitted");
  CallModel model = readCall(*state->module);
  model.callSha256 = sha256(text());
  return model;
}

} // namespace writ
