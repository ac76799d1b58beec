//===- GraphFields.h - what the verifiers of graph share (private) --------===//
#pragma once

#include "ir/GraphIR/Graph.h"

namespace writ::graph {

inline bool isPhase(llvm::StringRef phase) {
  return phase == "prefill" || phase == "decode" || phase == "sample";
}

/// Every value of `fields` is an AttrT that `accept` takes.
template <typename AttrT>
mlir::LogicalResult eachField(mlir::Operation *op, mlir::DictionaryAttr fields,
                              llvm::StringRef what, llvm::StringRef rule,
                              llvm::function_ref<bool(AttrT)> accept) {
  for (mlir::NamedAttribute field : fields) {
    auto value = mlir::dyn_cast<AttrT>(field.getValue());
    if (!value || !accept(value))
      return op->emitOpError() << what << " '" << field.getName().getValue() << "' is "
                               << field.getValue() << "; " << rule;
  }
  return mlir::success();
}

inline mlir::LogicalResult dimensionsArePositive(mlir::Operation *op,
                                                 mlir::DictionaryAttr dimensions) {
  return eachField<mlir::IntegerAttr>(
      op, dimensions, "dimension", "a dimension is a positive i64", [](mlir::IntegerAttr size) {
        return size.getType().isSignlessInteger(64) && size.getInt() > 0;
      });
}

/// "[3, 4]"
inline std::string dims(llvm::ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (int64_t size : shape)
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

} // namespace writ::graph
