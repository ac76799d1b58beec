//===- ReadCall.h - CallIR → plain data -----------------------------------===//
#pragma once

#include "compiler/Emit/CallModel.h"
#include "mlir/IR/BuiltinOps.h"

namespace writ {

/// The data of a verified CallIR module; throws E204 where the module is of another stage.
CallModel readCall(mlir::ModuleOp module);

} // namespace writ
