//===- LoweredDialect.cpp - registration and constraints of lowered -------===//
#include "ir/LoweredIR/Lowered.h"

#include "ir/Shared/Families.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace writ;
using namespace writ::lowered;

#include "ir/LoweredIR/LoweredDialect.cpp.inc"
#include "ir/LoweredIR/LoweredInterfaces.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "ir/LoweredIR/LoweredTypes.cpp.inc"
#define GET_OP_CLASSES
#include "ir/LoweredIR/LoweredOps.cpp.inc"

void LoweredDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "ir/LoweredIR/LoweredTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/LoweredIR/LoweredOps.cpp.inc"
      >();
}

namespace {

constexpr int64_t kAlignment = 64;

int64_t aligned(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

bool overlap(int64_t aBegin, int64_t aEnd, int64_t bBegin, int64_t bEnd) {
  return aBegin < bEnd && bBegin < aEnd;
}

std::optional<int64_t> dimension(KernelOpInterface op, std::string_view name) {
  auto size = op.getDimensions().getAs<IntegerAttr>(StringRef(name));
  return size ? std::optional(size.getInt()) : std::nullopt;
}

LogicalResult verifyBuffers(Operation *op, OperandRange buffers, StringRef direction,
                            std::span<const OperandShape> shapes) {
  // lowered.kernel C1
  if (buffers.size() != shapes.size())
    return op->emitOpError() << "has " << buffers.size() << " " << direction
                             << " buffers; its family has " << shapes.size();
  for (auto [buffer, shape] : llvm::zip(buffers, shapes)) {
    std::optional<int64_t> width = rowWidth(
        shape, [&](std::string_view name) { return dimension(cast<KernelOpInterface>(op), name); });
    int64_t actual = cast<BufferType>(buffer.getType()).getWidth();
    // lowered.kernel C2
    if (!width || *width != actual)
      return op->emitOpError() << "'" << shape.name << "' has rows of " << actual
                               << " elements, but its dimensions make " << (width ? *width : 0);
  }
  return success();
}

/// What one buffer's live range must be, from the kernels that use it.
struct Range {
  int64_t first = -1, last = -1;
};

} // namespace

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emit, StringRef arena,
                                 StringRef storage, int64_t width) {
  // lowered.buffer C1
  if (arena != "rows" && arena != "outputs")
    return emit() << "arena is '" << arena << "'; arenas are rows and outputs";
  // lowered.buffer C2
  if (!rowBytes(storage, width))
    return emit() << "storage '" << storage << "' has no rows of " << width << " elements";
  return success();
}

LogicalResult BufferOp::verify() {
  BufferType type = getBuffer().getType();
  // lowered.buffer C3
  if (int64_t(getBytes()) != *rowBytes(type.getStorage(), type.getWidth()))
    return emitOpError() << "has " << getBytes() << " bytes, but its row takes "
                         << *rowBytes(type.getStorage(), type.getWidth());
  // lowered.buffer C4
  if (int64_t(getOffset()) < 0 || getOffset() % kAlignment != 0)
    return emitOpError() << "lies at " << int64_t(getOffset()) << "; offsets are multiples of "
                         << kAlignment;
  return success();
}

LogicalResult WeightOp::verify() {
  // lowered.weight C1
  if (int64_t(getOffset()) < 0 || getOffset() % kAlignment != 0)
    return emitOpError() << "lies at " << int64_t(getOffset()) << "; offsets are multiples of "
                         << kAlignment;
  // lowered.weight C2
  if (int64_t(getBytes()) < 1 || getShape().empty() || getShape().size() > 2 ||
      llvm::any_of(getShape(), [](int64_t size) { return size < 1; }))
    return emitOpError("has no bytes or no shape");
  return success();
}

LogicalResult MemoryOp::verify() {
  auto module = cast<ModuleOp>((*this)->getParentOp());
  // lowered.memory C1
  if (graph::findOne<MemoryOp>(module) != *this)
    return emitOpError("stands once in a module");
  // lowered.memory C2
  for (int64_t bytes :
       {getRowArena(), getOutputArena(), getLogitsOffset(), getWeights(), getKvPerToken()})
    if (bytes < 0)
      return emitOpError() << "counts " << bytes << " bytes";
  int64_t end = 0, kv = 0;
  for (WeightOp weight : module.getOps<WeightOp>()) {
    // lowered.memory C3
    if (int64_t(weight.getOffset()) < end)
      return weight.emitOpError() << "begins at " << weight.getOffset()
                                  << ", before the end of an earlier weight at " << end;
    end = weight.getOffset() + weight.getBytes();
  }
  // lowered.memory C4
  if (int64_t(getWeights()) != end)
    return emitOpError() << "counts " << getWeights() << " bytes of weights, but they end at "
                         << end;
  for (auto group : module.getOps<graph::KvGroupOp>()) {
    auto shape = cast<graph::KvType>(group.getShape());
    kv += 2 * shape.getLayers() * shape.getKvHeads() *
          *rowBytes(shape.getStorage(), shape.getHeadDim());
  }
  // lowered.memory C5
  if (int64_t(getKvPerToken()) != kv)
    return emitOpError() << "counts " << getKvPerToken() << " KV bytes for a token, but its groups "
                         << "take " << kv;
  return success();
}

LogicalResult EntryOp::verifyRegions() {
  // lowered.entry C1
  if (getSymName() != "prefill" && getSymName() != "decode")
    return emitOpError() << "is '" << getSymName() << "'; entries are prefill and decode";
  auto memory = graph::findOne<MemoryOp>(cast<ModuleOp>((*this)->getParentOp()));
  // lowered.entry C2
  if (!memory)
    return emitOpError("stands in a module without lowered.memory");
  auto model = graph::findOne<graph::ModelOp>(cast<ModuleOp>((*this)->getParentOp()));
  llvm::DenseMap<Value, Range> ranges;
  SmallVector<BufferOp> buffers;
  Value logits;
  int64_t index = 0;
  for (Operation &op : getBody().front()) {
    if (auto buffer = dyn_cast<BufferOp>(op)) {
      buffers.push_back(buffer);
      continue;
    }
    auto kernel = dyn_cast<KernelOpInterface>(op);
    // lowered.entry C3
    if (!kernel)
      return op.emitOpError("is neither a buffer nor a kernel");
    for (Value buffer : kernel.getIns()) {
      // lowered.entry C4
      if (!ranges.contains(buffer))
        return op.emitOpError("reads a buffer that nothing has written");
      ranges[buffer].last = index;
    }
    for (Value buffer : kernel.getOuts())
      // lowered.entry C5
      if (!ranges.try_emplace(buffer, Range{index, index}).second)
        return op.emitOpError("writes a buffer that is written already");
    if (model && cast<graph::ResolvedOpInterface>(op).getOpName() == model.getResult() &&
        kernel.getOuts().size() == 1)
      logits = kernel.getOuts()[0];
    ++index;
  }
  auto result = logits ? logits.getDefiningOp<BufferOp>() : BufferOp();
  // lowered.entry C9
  if (!result || result.getBuffer().getType().getArena() != "outputs" ||
      result.getOffset() != memory.getLogitsOffset())
    return emitOpError("has no logits at the offset that lowered.memory gives");
  ranges[logits].last = index - 1; // the caller reads them
  for (size_t i = 0; i < buffers.size(); ++i) {
    BufferOp buffer = buffers[i];
    BufferType type = buffer.getBuffer().getType();
    Range range = ranges.lookup(buffer.getBuffer());
    // lowered.entry C6
    if (int64_t(buffer.getFirst()) != range.first || int64_t(buffer.getLast()) != range.last)
      return buffer.emitOpError() << "is live in [" << buffer.getFirst() << ", " << buffer.getLast()
                                  << "], but is used in [" << range.first << ", " << range.last
                                  << "]";
    int64_t begin = buffer.getOffset(), end = begin + aligned(buffer.getBytes());
    int64_t limit = type.getArena() == "rows" ? memory.getRowArena() : memory.getOutputArena();
    // lowered.entry C7
    if (end > limit)
      return buffer.emitOpError() << "ends at " << end << " of an arena of " << limit << " bytes";
    for (size_t j = 0; j < i; ++j) {
      BufferOp other = buffers[j];
      // lowered.entry C8
      if (other.getBuffer().getType().getArena() == type.getArena() &&
          buffer.getFirst() <= other.getLast() && other.getFirst() <= buffer.getLast() &&
          overlap(begin, end, other.getOffset(), other.getOffset() + aligned(other.getBytes()))) {
        InFlightDiagnostic error = buffer.emitOpError("lies on a buffer that is live with it");
        error.attachNote(other.getLoc()) << "the other buffer";
        return error;
      }
    }
  }
  return success();
}

LogicalResult writ::lowered::verifyKernel(Operation *op) {
  auto kernel = cast<KernelOpInterface>(op);
  const FamilyShape &shape = *findFamilyShape(op->getName().stripDialect());
  if (failed(verifyBuffers(op, kernel.getIns(), "input", shape.inputs)) ||
      failed(verifyBuffers(op, kernel.getOuts(), "output", shape.outputs)))
    return failure();
  // lowered.kernel C3
  for (Value in : kernel.getIns())
    for (Value out : kernel.getOuts()) {
      bool same =
          cast<BufferType>(in.getType()).getArena() == cast<BufferType>(out.getType()).getArena();
      if (same == shape.selectsRows)
        return op->emitOpError("mixes rows of the step with output rows");
    }
  // lowered.kernel C4
  if (kernel.getKvGroup().has_value() != shape.readsKv ||
      kernel.getKvLayer().has_value() != shape.readsKv)
    return op->emitOpError() << (shape.readsKv ? "names no KV layer" : "names a KV layer");
  // lowered.kernel C5
  for (std::string_view name : shape.weights)
    if (!kernel.getWeights().contains(name))
      return op->emitOpError() << "lacks weight '" << name << "'";
  return success();
}

LogicalResult writ::lowered::verifyKernelSymbols(Operation *op, SymbolTableCollection &symbols) {
  auto kernel = cast<KernelOpInterface>(op);
  auto resolved = cast<graph::ResolvedOpInterface>(op);
  auto found = symbols.lookupNearestSymbolFrom<graph::ResolutionOp>(op, resolved.getResolution());
  // lowered.kernel C6
  if (!found || found.getOpName() != resolved.getOpName() ||
      found.getFamily() != op->getName().stripDialect() ||
      found.getPhase() != op->getParentOfType<EntryOp>().getSymName())
    return op->emitOpError() << "names " << resolved.getResolution()
                             << ", which is no resolution of it";
  DictionaryAttr layouts = resolved.getResolvedExecution().getLayouts();
  for (NamedAttribute field : kernel.getWeights()) {
    auto symbol = dyn_cast<FlatSymbolRefAttr>(field.getValue());
    auto weight = symbol ? symbols.lookupNearestSymbolFrom<WeightOp>(op, symbol) : WeightOp();
    // lowered.kernel C7
    if (!weight)
      return op->emitOpError() << "names " << field.getValue() << ", which is no weight";
    // lowered.kernel C8
    if (layouts.getAs<StringAttr>(field.getName()) != weight.getLayoutAttr())
      return op->emitOpError() << "reads weight '" << field.getName().getValue() << "' in layout "
                               << layouts.get(field.getName()) << ", but " << symbol << " is "
                               << weight.getLayoutAttr();
  }
  if (!kernel.getKvGroup())
    return success();
  auto group = symbols.lookupNearestSymbolFrom<graph::KvGroupOp>(
      op, StringAttr::get(op->getContext(), *kernel.getKvGroup()));
  // lowered.kernel C9
  if (!group || *kernel.getKvLayer() >= uint64_t(cast<graph::KvType>(group.getShape()).getLayers()))
    return op->emitOpError() << "uses layer " << *kernel.getKvLayer() << " of @"
                             << *kernel.getKvGroup() << ", which is not there";
  return success();
}
