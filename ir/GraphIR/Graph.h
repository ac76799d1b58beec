//===- Graph.h - the graph dialect ----------------------------------------===//
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"

#include "ir/GraphIR/GraphDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/GraphIR/GraphAttributes.h.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/GraphIR/GraphTypes.h.inc"

#include "ir/GraphIR/GraphInterfaces.h.inc"

#define GET_OP_CLASSES
#include "ir/GraphIR/GraphOps.h.inc"

namespace writ::graph {

/// The storage type of a tensor: its encoding where it holds codes, else its element type ("f32").
std::string storageOf(mlir::Type tensor);
/// tensor<?x`width`x…> of a storage type; codes are i8 with the storage as encoding.
mlir::RankedTensorType tensorOf(mlir::MLIRContext *context, llvm::StringRef storage, int64_t width);

/// The one op of type OpT in a module, or null.
template <typename OpT> OpT findOne(mlir::ModuleOp module) {
  auto ops = module.getOps<OpT>();
  return ops.empty() ? OpT() : *ops.begin();
}

} // namespace writ::graph
