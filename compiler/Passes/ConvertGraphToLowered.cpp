//===- ConvertGraphToLowered.cpp - where it lives -------------------------===//
#include "compiler/Emit/PackWeights.h"
#include "compiler/Emit/Sections.h"
#include "compiler/Passes/ArenaPlan.h"
#include "compiler/Passes/Passes.h"
#include "ir/Shared/Families.h"

using namespace mlir;

namespace writ {
namespace {

/// One tensor of an entry on its way to a buffer.
struct Planned {
  Value value;
  std::string role; ///< section and name inside the layer; empty outside of layers
  bool outputRows = false;
  int64_t bytes = 0, first = 0, last = 0;
  size_t slot = 0; ///< in the plan of its arena
};

struct ConvertGraphToLowered : PassWrapper<ConvertGraphToLowered, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ConvertGraphToLowered)

  explicit ConvertGraphToLowered(PackedBytes packedBytes) : packedBytes(std::move(packedBytes)) {}
  ConvertGraphToLowered(const ConvertGraphToLowered &other)
      : PassWrapper(other), packedBytes(other.packedBytes) {}

  StringRef getArgument() const override { return "convert-graph-to-lowered"; }
  StringRef getDescription() const override {
    return "bind weights to packed bytes and plan buffers by liveness";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<lowered::LoweredDialect>();
  }
  void runOnOperation() override;

private:
  FailureOr<int64_t> placeWeights();
  void lowerEntry(graph::EntryOp entry);
  std::vector<Planned> liveness(graph::EntryOp entry);
  void lowerKernel(Operation &op, OpBuilder &builder);

  PackedBytes packedBytes;
  llvm::DenseMap<Value, Value> buffers; ///< of the entry at hand
  int64_t rowArena = 0, outputArena = 0;
};

/// Lays the weights out in the order of their declarations; returns the bytes of all.
FailureOr<int64_t> ConvertGraphToLowered::placeWeights() {
  int64_t end = 0;
  for (auto weight : llvm::make_early_inc_range(getOperation().getOps<graph::WeightOp>())) {
    if (!weight.getLayout())
      return weight.emitOpError("has no layout: no op uses it [E205]");
    ArrayRef<int64_t> shape = weight.getShape();
    int64_t offset = (end + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
    int64_t bytes = packedBytes(weight.getLayout()->str(), weight.getStorage().str(),
                                shape.size() == 1 ? 1 : shape[0], shape.back());
    if (bytes < 1 || offset > INT64_MAX - bytes)
      return weight.emitOpError() << "is " << weight.getStorageAttr() << " of [" << shape
                                  << "], which cannot lie in layout '" << *weight.getLayout()
                                  << "' [E207]";
    OpBuilder builder(weight);
    builder.create<lowered::WeightOp>(
        weight.getLoc(), weight.getSymNameAttr(), weight.getTensorAttr(), weight.getStorageAttr(),
        weight.getShapeAttr(), weight.getLayoutAttr(), builder.getI64IntegerAttr(offset),
        builder.getI64IntegerAttr(bytes), weight.getValuesAttr());
    weight.erase();
    end = offset + bytes;
  }
  return end;
}

std::vector<Planned> ConvertGraphToLowered::liveness(graph::EntryOp entry) {
  std::vector<Planned> all;
  llvm::DenseMap<Value, size_t> position;
  Block &body = entry.getBody().front();
  int64_t index = 0, last = int64_t(body.getOperations().size()) - 2;
  for (Operation &op : body) {
    bool outputRows = isa<graph::SelectRowsOp>(op);
    for (Value operand : op.getOperands())
      if (auto it = position.find(operand); it != position.end()) {
        Planned &read = all[it->second];
        read.last = std::min(index, last); // the return reads the logits when all kernels ran
        outputRows |= read.outputRows;
      }
    for (Value result : op.getResults())
      if (auto type = dyn_cast<RankedTensorType>(result.getType())) {
        position[result] = all.size();
        std::string role;
        if (op.hasAttr("layer"))
          role = op.getAttrOfType<StringAttr>("section").str() + "/" +
                 localName(op.getAttrOfType<StringAttr>("op_name").str());
        all.push_back({result, role, outputRows,
                       *rowBytes(graph::storageOf(type), type.getDimSize(1)), index, index});
      }
    ++index;
  }
  return all;
}

void ConvertGraphToLowered::lowerEntry(graph::EntryOp entry) {
  std::vector<Planned> all = liveness(entry);
  Value logits = entry.getBody().front().getTerminator()->getOperand(0);
  /// A place that the same value of each layer shares.
  struct Place {
    std::string role;
    bool outputRows;
    size_t slot;
  };
  std::vector<Place> places;
  std::vector<PlannedBuffer> plans[2];
  for (Planned &planned : all) {
    std::vector<PlannedBuffer> &plan = plans[planned.outputRows];
    // The logits of both entries lie at the same place: at the head of their arena.
    int64_t fixed = planned.value == logits ? 0 : -1;
    PlannedBuffer alone{planned.bytes, {{planned.first, planned.last}}, fixed};
    auto shared = llvm::find_if(places, [&](const Place &place) {
      return fixed < 0 && place.role == planned.role && place.outputRows == planned.outputRows &&
             plan[place.slot].bytes == planned.bytes && !liveTogether(plan[place.slot], alone);
    });
    if (shared != places.end()) {
      planned.slot = shared->slot;
      plan[planned.slot].live.push_back(alone.live[0]);
      continue;
    }
    planned.slot = plan.size();
    plan.push_back(alone);
    if (fixed < 0 && !planned.role.empty())
      places.push_back({planned.role, planned.outputRows, planned.slot});
  }
  rowArena = std::max(rowArena, planArena(plans[0]));
  outputArena = std::max(outputArena, planArena(plans[1]));

  OpBuilder builder(entry);
  auto lowered = builder.create<lowered::EntryOp>(entry.getLoc(), entry.getSymName());
  builder.createBlock(&lowered.getBody());
  buffers.clear();
  llvm::DenseMap<Value, const Planned *> plannedOf;
  for (const Planned &planned : all)
    plannedOf[planned.value] = &planned;
  for (Operation &op : entry.getBody().front().without_terminator()) {
    for (Value result : op.getResults())
      if (const Planned *planned = plannedOf.lookup(result)) {
        const PlannedBuffer &place = plans[planned->outputRows][planned->slot];
        auto tensor = cast<RankedTensorType>(result.getType());
        auto type =
            lowered::BufferType::get(&getContext(), planned->outputRows ? "outputs" : "rows",
                                     graph::storageOf(tensor), tensor.getDimSize(1));
        buffers[result] = builder.create<lowered::BufferOp>(
            op.getLoc(), type, place.offset, planned->bytes, planned->first, planned->last);
      }
    lowerKernel(op, builder);
  }
  entry.erase();
}

void ConvertGraphToLowered::lowerKernel(Operation &op, OpBuilder &builder) {
  OperationState state(op.getLoc(), ("lowered." + op.getName().stripDialect()).str());
  int32_t ins = 0, outs = 0;
  for (Value operand : op.getOperands())
    if (Value buffer = buffers.lookup(operand)) {
      state.addOperands(buffer);
      ++ins;
    }
  for (Value result : op.getResults())
    if (Value buffer = buffers.lookup(result)) {
      state.addOperands(buffer);
      ++outs;
    }
  SmallVector<NamedAttribute> weights, words, numbers;
  for (NamedAttribute attribute : op.getAttrs()) {
    StringRef name = attribute.getName();
    static constexpr StringRef kept[] = {"dimensions", "op_name",    "section",
                                         "layer",      "resolution", "resolved_execution",
                                         "kv_group",   "kv_layer"};
    if (llvm::is_contained(kept, name))
      state.addAttribute(name, attribute.getValue());
    else if (isa<FlatSymbolRefAttr>(attribute.getValue()))
      weights.push_back(attribute);
    else if (isa<FloatAttr>(attribute.getValue()))
      numbers.push_back(attribute);
    else
      words.push_back(attribute);
  }
  state.addAttribute("weights", builder.getDictionaryAttr(weights));
  state.addAttribute("family_attributes", builder.getDictionaryAttr(words));
  state.addAttribute("numbers", builder.getDictionaryAttr(numbers));
  state.addAttribute("operandSegmentSizes", builder.getDenseI32ArrayAttr({ins, outs}));
  builder.create(state);
}

void ConvertGraphToLowered::runOnOperation() {
  ModuleOp module = getOperation();
  auto table = graph::findOne<graph::ResolutionsOp>(module);
  if (!table || module.getOps<graph::EntryOp>().empty()) {
    module.emitError("the module has no graph.entry; run convert-requirements-to-graph first "
                     "[E205]");
    return signalPassFailure();
  }
  FailureOr<int64_t> weights = placeWeights();
  if (failed(weights))
    return signalPassFailure();
  for (auto entry : llvm::make_early_inc_range(module.getOps<graph::EntryOp>()))
    lowerEntry(entry);
  int64_t kvPerToken = 0;
  for (auto group : module.getOps<graph::KvGroupOp>()) {
    auto kv = cast<graph::KvType>(group.getShape());
    kvPerToken +=
        2 * kv.getLayers() * kv.getKvHeads() * *rowBytes(kv.getStorage(), kv.getHeadDim());
  }
  OpBuilder builder(table);
  builder.create<lowered::MemoryOp>(builder.getUnknownLoc(), rowArena, outputArena,
                                    /*logits_offset=*/0, *weights, kvPerToken);
}

} // namespace

std::unique_ptr<Pass> createConvertGraphToLowered(PackedBytes packedBytes) {
  if (!packedBytes)
    packedBytes = writ::packedBytes;
  return std::make_unique<ConvertGraphToLowered>(std::move(packedBytes));
}

} // namespace writ
