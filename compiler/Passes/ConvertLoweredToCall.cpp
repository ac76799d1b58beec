//===- ConvertLoweredToCall.cpp - call-ready kernels in order -------------===//
#include "compiler/Passes/Passes.h"
#include "ir/Shared/Families.h"

#include <cmath>

using namespace mlir;

namespace writ {
namespace {

/// Binds the arguments of one kernel, as its resolution lists them.
class Binder {
public:
  Binder(lowered::KernelOpInterface kernel, const FamilyShape &shape)
      : kernel(kernel), op(kernel.getOperation()), shape(shape), builder(op->getContext()) {}

  /// The value of one argument; null after an error was reported.
  Attribute bind(graph::ArgumentAttr argument) {
    auto [kind, name] = argument.getBind().split(':');
    Attribute value;
    if (kind == "operand")
      value = operand(name);
    else if (kind == "dim")
      value = dimension(name);
    else if (kind == "attr")
      value = number(name, argument.getType());
    else if (kind == "kv.view" && kernel.getKvGroup())
      value = call::KvAttr::get(op->getContext(),
                                FlatSymbolRefAttr::get(op->getContext(), *kernel.getKvGroup()));
    else if (kind == "kv.layer" && kernel.getKvLayer())
      value = call::KvLayerAttr::get(op->getContext(), int64_t(*kernel.getKvLayer()));
    else if (kind == "kv.window" && kernel.getKvGroup())
      value = window(*kernel.getKvGroup());
    else if (kind.consume_front("rows."))
      value = rows(kind);
    if (!value)
      op->emitError() << "'" << op->getName().getStringRef() << "' cannot bind argument '"
                      << argument.getName() << "' (" << argument.getType() << ") to '"
                      << argument.getBind() << "' [E206]";
    return value;
  }

private:
  /// Whether the op runs over the output rows of the step.
  bool onOutputRows() {
    OperandRange buffers = kernel.getOuts().empty() ? kernel.getIns() : kernel.getOuts();
    return !buffers.empty() &&
           cast<lowered::BufferType>(buffers.front().getType()).getArena() == "outputs";
  }

  Attribute buffer(Value value) {
    auto place = value.getDefiningOp<lowered::BufferOp>();
    return call::BufferAttr::get(op->getContext(), place.getBuffer().getType().getArena(),
                                 int64_t(place.getOffset()));
  }

  Attribute operand(StringRef name) {
    for (auto [value, input] : llvm::zip(kernel.getIns(), shape.inputs))
      if (name == StringRef(input.name))
        return buffer(value);
    for (auto [value, output] : llvm::zip(kernel.getOuts(), shape.outputs))
      if (name == StringRef(output.name))
        return buffer(value);
    if (Attribute weight = kernel.getWeights().get(name))
      return weight;
    if (llvm::is_contained(shape.optionalWeights, std::string_view(name)))
      return call::NullAttr::get(op->getContext());
    return {};
  }

  Attribute dimension(StringRef name) {
    if (name == "rows")
      return call::RowsAttr::get(op->getContext(), onOutputRows() ? "outputs" : "count");
    return kernel.getDimensions().get(name);
  }

  /// A number of the family, exact in the argument's type.
  Attribute number(StringRef name, StringRef type) {
    auto value = kernel.getNumbers().getAs<FloatAttr>(name);
    if (!value)
      return {};
    double exact = value.getValueAsDouble();
    if (type == "f32" && double(float(exact)) == exact)
      return builder.getF32FloatAttr(float(exact));
    if (type == "i64" && std::nearbyint(exact) == exact && std::fabs(exact) < 0x1p53)
      return builder.getI64IntegerAttr(int64_t(exact));
    return {};
  }

  /// None where queries see all positions: a kernel that asks for a window cannot take that.
  Attribute window(StringRef group) {
    auto declared =
        cast<graph::KvGroupOp>(SymbolTable::lookupSymbolIn(op->getParentOfType<ModuleOp>(), group));
    int64_t positions = cast<graph::KvType>(declared.getShape()).getWindow();
    return positions > 0 ? builder.getI64IntegerAttr(positions) : Attribute();
  }

  Attribute rows(StringRef field) {
    // Only the selection itself knows both kinds of rows.
    if (field != "output_row" && onOutputRows())
      return {};
    static constexpr StringRef known[] = {"token", "position", "sequence", "output_row"};
    return llvm::is_contained(known, field) ? call::RowsAttr::get(op->getContext(), field)
                                            : Attribute();
  }

  lowered::KernelOpInterface kernel;
  Operation *op;
  const FamilyShape &shape;
  Builder builder;
};

struct ConvertLoweredToCall : PassWrapper<ConvertLoweredToCall, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ConvertLoweredToCall)

  StringRef getArgument() const override { return "convert-lowered-to-call"; }
  StringRef getDescription() const override {
    return "bind each kernel's arguments in the order of its map";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<call::CallDialect>();
  }
  void runOnOperation() override;

private:
  LogicalResult convert(lowered::KernelOpInterface kernel, OpBuilder &builder);
};

LogicalResult ConvertLoweredToCall::convert(lowered::KernelOpInterface kernel, OpBuilder &builder) {
  Operation *op = kernel.getOperation();
  auto resolved = cast<graph::ResolvedOpInterface>(op);
  graph::ExecutionAttr execution = resolved.getResolvedExecution();
  StringRef family = op->getName().stripDialect();
  Binder binder(kernel, *findFamilyShape(family));
  SmallVector<Attribute> arguments;
  for (auto argument : execution.getArguments().getAsRange<graph::ArgumentAttr>()) {
    Attribute value = binder.bind(argument);
    auto bound =
        value ? call::ArgumentAttr::getChecked([&] { return op->emitError(); }, &getContext(),
                                               argument.getName(), argument.getType(), value)
              : call::ArgumentAttr();
    if (!bound)
      return failure();
    arguments.push_back(bound);
  }
  builder.create<call::KernelOp>(
      op->getLoc(), FlatSymbolRefAttr::get(&getContext(), execution.getThreaded()),
      builder.getStringAttr(resolved.getOpName()), builder.getStringAttr(family),
      builder.getArrayAttr(arguments), execution.getExtent(),
      builder.getI64IntegerAttr(execution.getGrain()), op->getAttrOfType<StringAttr>("section"),
      op->getAttrOfType<IntegerAttr>("layer"), resolved.getResolution(), execution);
  return success();
}

void ConvertLoweredToCall::runOnOperation() {
  ModuleOp module = getOperation();
  if (module.getOps<lowered::EntryOp>().empty()) {
    module.emitError("the module has no lowered.entry; run convert-graph-to-lowered first [E205]");
    return signalPassFailure();
  }
  for (auto entry : llvm::make_early_inc_range(module.getOps<lowered::EntryOp>())) {
    OpBuilder builder(entry);
    auto calls = builder.create<call::EntryOp>(entry.getLoc(), entry.getSymName());
    builder.createBlock(&calls.getBody());
    for (Operation &op : entry.getBody().front())
      if (auto kernel = dyn_cast<lowered::KernelOpInterface>(op))
        if (failed(convert(kernel, builder)))
          return signalPassFailure();
    entry.erase();
  }
}

} // namespace

std::unique_ptr<Pass> createConvertLoweredToCall() {
  return std::make_unique<ConvertLoweredToCall>();
}

} // namespace writ
