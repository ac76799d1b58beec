//===- GraphDialect.cpp - registration, types, syntax of graph ------------===//
#include "ir/GraphIR/Graph.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace writ::graph;

#include "ir/GraphIR/GraphDialect.cpp.inc"
#include "ir/GraphIR/GraphInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/GraphIR/GraphAttributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/GraphIR/GraphTypes.cpp.inc"
#define GET_OP_CLASSES
#include "ir/GraphIR/GraphOps.cpp.inc"

namespace {

/// Decisions are written once, at the head of the text, under the provider's name.
struct Aliases : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;
  AliasResult getAlias(Attribute attribute, raw_ostream &os) const override {
    auto execution = llvm::dyn_cast<ExecutionAttr>(attribute);
    if (!execution)
      return AliasResult::NoAlias;
    os << execution.getProvider();
    return AliasResult::FinalAlias;
  }
};

} // namespace

void GraphDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/GraphIR/GraphAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "ir/GraphIR/GraphTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/GraphIR/GraphOps.cpp.inc"
      >();
  addInterfaces<Aliases>();
}

std::string writ::graph::storageOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return {};
  if (auto encoding = dyn_cast_or_null<StringAttr>(tensor.getEncoding()))
    return encoding.getValue().str();
  std::string text;
  llvm::raw_string_ostream(text) << tensor.getElementType();
  return text;
}

RankedTensorType writ::graph::tensorOf(MLIRContext *context, llvm::StringRef storage,
                                       int64_t width) {
  int64_t shape[] = {ShapedType::kDynamic, width};
  Builder builder(context);
  if (Type scalar = llvm::StringSwitch<Type>(storage)
                        .Case("f16", builder.getF16Type())
                        .Case("bf16", builder.getBF16Type())
                        .Case("f32", builder.getF32Type())
                        .Case("f64", builder.getF64Type())
                        .Case("i32", builder.getI32Type())
                        .Default(Type()))
    return RankedTensorType::get(shape, scalar);
  return RankedTensorType::get(shape, builder.getI8Type(), builder.getStringAttr(storage));
}

void ReturnOp::build(OpBuilder &, OperationState &) {}

ParseResult EntryOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseSymbolName(name, SymbolTable::getSymbolAttrName(), result.attributes) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  return parser.parseRegion(*result.addRegion(), arguments);
}

void EntryOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  for (BlockArgument argument : region.getArguments())
    setName(argument, argument.getArgNumber() == 0
                          ? "rows"
                          : "kv" + std::to_string(argument.getArgNumber() - 1));
}

void EntryOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << '(';
  llvm::interleaveComma(getBody().getArguments(), printer,
                        [&](BlockArgument argument) { printer.printRegionArgument(argument); });
  printer << ')';
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {SymbolTable::getSymbolAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}
