//===- Pipeline.h - the compiler from circuit instance to CallIR ----------===//
//
// A Compilation holds one module and moves it through the stages; no MLIR header is needed to use
// it. After each pass the decisions are checked (check-resolution). Errors are thrown as
// writ::Error.
//
//   Compilation c;
//   c.buildRequirements(instance, catalog, profile, options);
//   c.resolve(catalog);
//   c.buildGraph();   // c.text(): GraphIR
//   c.lower();        // c.text(): LoweredIR
//   c.toCall();       // c.text(): CallIR
//   CallModel model = c.callModel();
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Emit/CallModel.h"
#include "compiler/Import/Circuit.h"
#include "compiler/Resolve/Resolver.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace writ {

struct BuildOptions {
  std::string target = "cpu";
  bool production = true;
  /// Further inputs that the banner of the emitted code names: what → digest.
  std::map<std::string, std::string> inputs;
};

/// A requirement and what it was resolved to.
struct ResolvedRequirement {
  Requirement requirement;
  Resolution resolution;
};

/// An entry of a module's resolution table: what was decided for an op in a phase.
struct ResolvedOp {
  std::string name, phase;
  Location location; ///< in the circuit, as the IR names it: "circuits/NAME.json"
  Resolution resolution;
};

class Compilation {
public:
  Compilation();
  ~Compilation();
  Compilation(Compilation &&) noexcept;
  Compilation &operator=(Compilation &&) noexcept;

  /// Instance → requirements, fused as the profile says. E110 to E112 from the profile, E202.
  void buildRequirements(const CircuitInstance &instance, const Catalog &catalog,
                         const Profile &profile, const BuildOptions &options = {});
  /// Those of the module, in its order; none once the graph is built.
  std::vector<Requirement> requirements(const Catalog &catalog) const;
  /// resolve-providers. E101, E102: every requirement that fails, each site once.
  void resolve(const Catalog &catalog);
  /// convert-requirements-to-graph.
  void buildGraph();
  /// convert-graph-to-lowered. `packedBytes` null: that of compiler/Emit/PackWeights.h.
  void lower(std::function<int64_t(std::string_view layout, std::string_view storage, int64_t n,
                                   int64_t k)>
                 packedBytes = {});
  /// convert-lowered-to-call.
  void toCall();
  /// The remaining stages after buildRequirements().
  void run(const Catalog &catalog);

  /// The module of the present stage, with positions, as `writ-opt -mlir-print-debuginfo` prints
  /// it; parse() of it prints the same text.
  std::string text() const;
  /// Replaces the module. E203 where the text does not hold a valid module.
  void parse(std::string_view text, const std::string &fileName);

  /// check-resolution alone: the table has the digest that it was sealed with, and every op keeps
  /// its entry (E201).
  void checkResolution();

  /// What resolve() decided, in the order of the requirements; kept by later stages. parse() of a
  /// module without requirements forgets it.
  const std::vector<ResolvedRequirement> &resolutions() const;
  /// The resolution table of any stage; empty before resolve().
  std::vector<ResolvedOp> resolvedOps() const;
  /// Of the resolution table; empty before resolve().
  std::string resolutionDigest() const;
  /// The CallIR as plain data, with the digest of text(). E204 where the module is of another
  /// stage.
  CallModel callModel() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace writ
