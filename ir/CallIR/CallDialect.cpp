//===- CallDialect.cpp - registration and constraints of call -------------===//
#include "ir/CallIR/Call.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace writ::call;

#include "ir/CallIR/CallDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/CallIR/CallAttributes.cpp.inc"
#define GET_OP_CLASSES
#include "ir/CallIR/CallOps.cpp.inc"

void CallDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/CallIR/CallAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/CallIR/CallOps.cpp.inc"
      >();
}

namespace {

bool isCount(StringRef field) {
  return field == "count" || field == "outputs";
}

/// Whether a slot of `type` can hold `value`.
bool fits(StringRef type, Attribute value) {
  if (type == "input")
    return isa<BufferAttr, KvAttr, NullAttr>(value) ||
           (isa<RowsAttr>(value) && !isCount(cast<RowsAttr>(value).getField()));
  if (type == "output")
    return isa<BufferAttr, NullAttr>(value);
  if (type == "weight")
    return isa<FlatSymbolRefAttr, NullAttr>(value);
  if (type == "i64")
    return isa<KvLayerAttr>(value) ||
           (isa<RowsAttr>(value) && isCount(cast<RowsAttr>(value).getField())) ||
           (isa<IntegerAttr>(value) && cast<IntegerAttr>(value).getType().isSignlessInteger(64));
  return type == "f32" && isa<FloatAttr>(value) && cast<FloatAttr>(value).getType().isF32() &&
         cast<FloatAttr>(value).getValue().isFinite();
}

} // namespace

LogicalResult BufferAttr::verify(function_ref<InFlightDiagnostic()> emit, StringRef arena,
                                 int64_t offset) {
  // call.buffer C1
  if (arena != "rows" && arena != "outputs")
    return emit() << "arena is '" << arena << "'; arenas are rows and outputs";
  // call.buffer C2
  if (offset < 0 || offset % 64 != 0)
    return emit() << "offset is " << offset << "; offsets are multiples of 64";
  return success();
}

LogicalResult RowsAttr::verify(function_ref<InFlightDiagnostic()> emit, StringRef field) {
  // call.rows C1
  if (!isCount(field) && field != "token" && field != "position" && field != "sequence" &&
      field != "output_row")
    return emit() << "rows have no field '" << field << "'";
  return success();
}

LogicalResult ArgumentAttr::verify(function_ref<InFlightDiagnostic()> emit, StringRef name,
                                   StringRef type, Attribute value) {
  // call.argument C1
  if (!fits(type, value))
    return emit() << "argument '" << name << "' of type '" << type << "' cannot hold " << value;
  return success();
}

LogicalResult EntryOp::verifyRegions() {
  // call.entry C1
  if (getSymName() != "prefill" && getSymName() != "decode")
    return emitOpError() << "is '" << getSymName() << "'; entries are prefill and decode";
  for (Operation &op : getBody().front())
    // call.entry C2
    if (!isa<KernelOp>(op))
      return op.emitOpError("is no call.kernel");
  return success();
}

LogicalResult KernelOp::verify() {
  llvm::StringSet<> names;
  for (Attribute attribute : getKernelArguments()) {
    auto argument = dyn_cast<ArgumentAttr>(attribute);
    // call.kernel C1
    if (!argument || !names.insert(argument.getName()).second)
      return emitOpError("takes #call.argument with different names");
  }
  for (Attribute attribute : getExtent())
    // call.kernel C2
    if (!isa<StringAttr>(attribute) || !names.contains(cast<StringAttr>(attribute).getValue()))
      return emitOpError() << "is split over " << attribute << ", which is no argument";
  // call.kernel C3
  if (int64_t(getGrain()) < 1)
    return emitOpError() << "has grain " << int64_t(getGrain()) << "; it is at least 1";
  return success();
}

LogicalResult KernelOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto found = symbols.lookupNearestSymbolFrom<writ::graph::ResolutionOp>(*this, getResolution());
  // call.kernel C4
  if (!found || found.getOpName() != getOpName() || found.getFamily() != getFamily() ||
      found.getPhase() != (*this)->getParentOfType<EntryOp>().getSymName())
    return emitOpError() << "names " << getResolution() << ", which is no resolution of it";
  auto memory = writ::graph::findOne<writ::lowered::MemoryOp>((*this)->getParentOfType<ModuleOp>());
  // call.kernel C5
  if (!memory)
    return emitOpError("stands in a module without lowered.memory");
  for (auto argument : getKernelArguments().getAsRange<ArgumentAttr>()) {
    Attribute value = argument.getValue();
    // call.kernel C6
    if (auto weight = dyn_cast<FlatSymbolRefAttr>(value);
        weight && !symbols.lookupNearestSymbolFrom<writ::lowered::WeightOp>(*this, weight))
      return emitOpError() << "names " << weight << ", which is no weight";
    // call.kernel C7
    if (auto kv = dyn_cast<KvAttr>(value);
        kv && !symbols.lookupNearestSymbolFrom<writ::graph::KvGroupOp>(*this, kv.getGroup()))
      return emitOpError() << "names " << kv.getGroup() << ", which is no KV group";
    // call.kernel C8
    if (auto buffer = dyn_cast<BufferAttr>(value)) {
      const auto limit =
          int64_t(buffer.getArena() == "rows" ? memory.getRowArena() : memory.getOutputArena());
      if (buffer.getOffset() >= limit)
        return emitOpError() << "argument '" << argument.getName() << "' lies at "
                             << buffer.getOffset() << " of an arena of " << limit << " bytes";
    }
  }
  return success();
}
