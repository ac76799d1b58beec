//===- Passes.h - one pass for each arrow of the pipeline -----------------===//
//
// Class, flag, file and test share one stem. Each pass runs alone in writ-opt; Pipeline.h joins
// them for the driver.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Diagnostics/Diagnostic.h"
#include "ir/CallIR/Call.h"
#include "mlir/Pass/Pass.h"

#include <functional>
#include <memory>
#include <string>

namespace writ {

class Catalog;

/// Bytes that a weight [n, k] of a storage type takes in a layout, as the packer writes it, or
/// -1 where it cannot (compiler/Emit/PackWeights.h). A weight [k] is one row.
using PackedBytes =
    std::function<int64_t(std::string_view layout, std::string_view storage, int64_t n, int64_t k)>;

/// What resolve-providers decided: its table's digest and each op's decision. The checks between
/// passes share one, so that a table which was changed together with its digest is seen too.
struct DecisionRecord {
  std::string sha256; ///< empty until a table was seen
};

/// fuse-requirements: the requirements that stand as the parts of a fusion of the profile → one.
/// Null: the catalog is read from the folder that the option `data` names.
std::unique_ptr<mlir::Pass> createFuseRequirements(const Catalog *catalog = nullptr);
/// resolve-providers: graph.requirement → graph.resolutions. Null: the catalog is read from the
/// folder that the option `data` names (its contracts/, kernel_maps/ and circuits/).
std::unique_ptr<mlir::Pass> createResolveProviders(const Catalog *catalog = nullptr);
/// convert-requirements-to-graph: requirements and resolutions → GraphIR.
std::unique_ptr<mlir::Pass> createConvertRequirementsToGraph();
/// convert-graph-to-lowered: GraphIR → LoweredIR.
std::unique_ptr<mlir::Pass> createConvertGraphToLowered(PackedBytes packedBytes = {});
/// convert-lowered-to-call: LoweredIR → CallIR.
std::unique_ptr<mlir::Pass> createConvertLoweredToCall();
/// check-resolution: every op keeps its resolution (E201). `after` is the pass to blame.
std::unique_ptr<mlir::Pass> createCheckResolution(const std::string &after = "",
                                                  std::shared_ptr<DecisionRecord> record = nullptr);

/// Registers all of the above for textual pipelines.
void registerPasses();

/// The canonical digest of a resolution table (SHA-256 of RFC 8785 JSON, see ir/spec.md).
std::string resolutionDigest(graph::ResolutionsOp table);

/// Reports a Diagnostic of the compiler through MLIR at `location`; notes keep their own positions.
void report(mlir::MLIRContext *context, const Diagnostic &diagnostic);
mlir::Location toMlir(mlir::MLIRContext *context, const Location &location);
Location fromMlir(mlir::Location location);

} // namespace writ
