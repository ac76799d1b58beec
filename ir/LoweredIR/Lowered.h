//===- Lowered.h - the lowered dialect ------------------------------------===//
#pragma once

#include "ir/GraphIR/Graph.h"

#include "ir/LoweredIR/LoweredDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "ir/LoweredIR/LoweredTypes.h.inc"

#include "ir/LoweredIR/LoweredInterfaces.h.inc"

namespace writ::lowered {

/// The constraints that every kernel op shares (spec.md, lowered.kernel).
mlir::LogicalResult verifyKernel(mlir::Operation *op);
mlir::LogicalResult verifyKernelSymbols(mlir::Operation *op, mlir::SymbolTableCollection &symbols);

} // namespace writ::lowered

#define GET_OP_CLASSES
#include "ir/LoweredIR/LoweredOps.h.inc"
