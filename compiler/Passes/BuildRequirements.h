//===- BuildRequirements.h - from a circuit instance to requirements ------===//
#pragma once

#include "compiler/Import/Circuit.h"
#include "compiler/Passes/Pipeline.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace writ {

/// A module of graph.model, graph.kv_group, graph.weight and one graph.requirement for each op and
/// phase. Where a contract wants codes and the op's input is a float value, a requirement of family
/// quantize_activation is put before it, once for each value and storage. Throws Error with every
/// fault found (the profile's E110 to E112, E202).
mlir::OwningOpRef<mlir::ModuleOp> buildRequirements(mlir::MLIRContext *context,
                                                    const CircuitInstance &instance,
                                                    const Catalog &catalog, const Profile &profile,
                                                    const BuildOptions &options);

/// What the module requires, in its order; none once the graph is built.
std::vector<Requirement> requirementsOf(mlir::ModuleOp module, const Catalog &catalog);

/// The requirements of a module, each with its entry of the resolution table.
std::vector<ResolvedRequirement> resolvedRequirements(mlir::ModuleOp module,
                                                      const Catalog &catalog);

/// The resolution table of a module of any stage; empty where it has none.
std::vector<ResolvedOp> resolvedOps(mlir::ModuleOp module);

/// The name of a circuit file in the IR: relative to the folder that holds the circuits' folder, so
/// that the IR does not depend on where that lies; and back.
std::string portableFile(const CatalogPaths &paths, const std::string &file);
std::string actualFile(const CatalogPaths &paths, const std::string &file);

} // namespace writ
