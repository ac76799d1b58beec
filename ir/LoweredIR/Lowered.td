//===- Lowered.td - the lowered dialect: where it lives -------------------===//
//
// Semantics and constraints: ir/spec.md. LoweredDialect.cpp checks.
//
//===----------------------------------------------------------------------===//
#ifndef WRIT_IR_LOWERED
#define WRIT_IR_LOWERED

include "ir/GraphIR/GraphBase.td"

def Lowered_Dialect : Dialect {
  let name = "lowered";
  let cppNamespace = "::writ::lowered";
  let summary = "where it lives: buffers in the arenas, packed weights, KV layers";
  let dependentDialects = ["::writ::graph::GraphDialect"];
  let useDefaultTypePrinterParser = 1;
}

def Lowered_Buffer : TypeDef<Lowered_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "rows of `width` elements of a storage type, one for each row of the arena's kind";
  let parameters = (ins StringRefParameter<>:$arena, StringRefParameter<>:$storage,
                        "int64_t":$width);
  let assemblyFormat = "`<` $arena `,` $storage `,` $width `>`";
  let genVerifyDecl = 1;
}

class Lowered_Op<string mnemonic, list<Trait> traits = []>
    : Op<Lowered_Dialect, mnemonic, traits>;

def Lowered_MemoryOp : Lowered_Op<"memory", [Graph_InModule]> {
  let summary = "exact byte counts of everything that the model holds";
  let arguments = (ins I64Attr:$row_arena, I64Attr:$output_arena, I64Attr:$logits_offset,
                       I64Attr:$weights, I64Attr:$kv_per_token);
  let assemblyFormat = [{
    `row_arena` $row_arena `output_arena` $output_arena `logits_offset` $logits_offset
    `weights` $weights `kv_per_token` $kv_per_token attr-dict
  }];
  let hasVerifier = 1;
}

def Lowered_WeightOp : Lowered_Op<"weight", [Graph_InModule, Symbol]> {
  let summary = "a weight's place in the packed weights";
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$tensor, StrAttr:$storage,
      DenseI64ArrayAttr:$shape, StrAttr:$layout, I64Attr:$offset, I64Attr:$bytes,
      OptionalAttr<F64ElementsAttr>:$values);
  let assemblyFormat = [{
    $sym_name `tensor` $tensor $storage $shape `layout` $layout `offset` $offset `bytes` $bytes
    (`values` $values^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Lowered_EntryOp : Lowered_Op<"entry", [Graph_InModule, Symbol, IsolatedFromAbove, SingleBlock,
    NoTerminator, NoRegionArguments]> {
  let summary = "the kernels of one phase, in order, over planned buffers";
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

def Lowered_BufferOp : Lowered_Op<"buffer", [HasParent<"EntryOp">]> {
  let summary = "bytes of an arena, for the kernels from `first` to `last`";
  let arguments = (ins I64Attr:$offset, I64Attr:$bytes, I64Attr:$first, I64Attr:$last);
  let results = (outs Lowered_Buffer:$buffer);
  let assemblyFormat = [{
    `offset` $offset `bytes` $bytes `live` `[` $first `,` $last `]` attr-dict `:` type($buffer)
  }];
  let hasVerifier = 1;
}

def Lowered_Kernel : OpInterface<"KernelOpInterface"> {
  let cppNamespace = "::writ::lowered";
  let description = "an op of a family over buffers";
  let methods = [
    InterfaceMethod<"buffers read, in the family's order", "::mlir::OperandRange", "getIns">,
    InterfaceMethod<"buffers written, in the family's order", "::mlir::OperandRange", "getOuts">,
    InterfaceMethod<"operand → weight", "::mlir::DictionaryAttr", "getWeights">,
    InterfaceMethod<"static dimensions", "::mlir::DictionaryAttr", "getDimensions">,
    InterfaceMethod<"words of the family", "::mlir::DictionaryAttr", "getFamilyAttributes">,
    InterfaceMethod<"numbers of the family", "::mlir::DictionaryAttr", "getNumbers">,
    InterfaceMethod<"KV group", "::std::optional<::llvm::StringRef>", "getKvGroup">,
    InterfaceMethod<"layer in the KV group", "::std::optional<uint64_t>", "getKvLayer">,
  ];
}

class Lowered_KernelOp<string mnemonic> : Lowered_Op<mnemonic, [HasParent<"EntryOp">,
    Graph_Resolved, Lowered_Kernel, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let arguments = (ins Variadic<Lowered_Buffer>:$ins, Variadic<Lowered_Buffer>:$outs,
      DictionaryAttr:$weights, DictionaryAttr:$dimensions, DictionaryAttr:$family_attributes,
      DictionaryAttr:$numbers, OptionalAttr<FlatSymbolRefAttr>:$kv_group,
      OptionalAttr<I64Attr>:$kv_layer, StrAttr:$op_name, StrAttr:$section,
      OptionalAttr<I64Attr>:$layer, SymbolRefAttr:$resolution, Graph_Execution:$resolved_execution);
  let assemblyFormat = [{
    $op_name `ins` `(` ($ins^ `:` type($ins))? `)` `outs` `(` ($outs^ `:` type($outs))? `)`
    `weights` $weights `dimensions` $dimensions `attributes` $family_attributes `numbers` $numbers
    (`kv` $kv_group^ `[` $kv_layer `]`)? `in` $section (`[` $layer^ `]`)?
    `resolved` `(` $resolution `,` $resolved_execution `)` attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDefinition = [{
    ::mlir::LogicalResult $cppClass::verify() { return ::writ::lowered::verifyKernel(*this); }
    ::mlir::LogicalResult $cppClass::verifySymbolUses(::mlir::SymbolTableCollection &symbols) {
      return ::writ::lowered::verifyKernelSymbols(*this, symbols);
    }
  }];
}

def Lowered_EmbeddingOp : Lowered_KernelOp<"embedding">;
def Lowered_RmsNormOp : Lowered_KernelOp<"rms_norm">;
def Lowered_LayerNormOp : Lowered_KernelOp<"layer_norm">;
def Lowered_L2NormOp : Lowered_KernelOp<"l2_norm">;
def Lowered_QuantizeActivationOp : Lowered_KernelOp<"quantize_activation">;
def Lowered_LinearOp : Lowered_KernelOp<"linear">;
def Lowered_RopeTableOp : Lowered_KernelOp<"rope_table">;
def Lowered_RopeOp : Lowered_KernelOp<"rope">;
def Lowered_KvStoreOp : Lowered_KernelOp<"kv_store">;
def Lowered_AttentionOp : Lowered_KernelOp<"attention">;
def Lowered_GateOp : Lowered_KernelOp<"gate">;
def Lowered_ActivationOp : Lowered_KernelOp<"activation">;
def Lowered_SoftCapOp : Lowered_KernelOp<"soft_cap">;
def Lowered_ResidualOp : Lowered_KernelOp<"residual">;
def Lowered_SelectRowsOp : Lowered_KernelOp<"select_rows">;
def Lowered_RmsNormQuantizeOp : Lowered_KernelOp<"rms_norm_quantize">;
def Lowered_GateQuantizeOp : Lowered_KernelOp<"gate_quantize">;

#endif // WRIT_IR_LOWERED
