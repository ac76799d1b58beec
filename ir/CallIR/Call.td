//===- Call.td - the call dialect: call-ready kernels in order ------------===//
//
// Semantics and constraints: ir/spec.md. CallDialect.cpp checks. A module of this stage also keeps
// graph.model, graph.kv_group, graph.resolutions, graph.host_op, lowered.memory and lowered.weight:
// it is all that the emitter reads.
//
//===----------------------------------------------------------------------===//
#ifndef WRIT_IR_CALL
#define WRIT_IR_CALL

include "ir/GraphIR/GraphBase.td"

def Call_Dialect : Dialect {
  let name = "call";
  let cppNamespace = "::writ::call";
  let summary = "call-ready kernels: symbol, arguments, launch geometry";
  let dependentDialects = ["::writ::graph::GraphDialect", "::writ::lowered::LoweredDialect"];
  let useDefaultAttributePrinterParser = 1;
}

class Call_Attr<string name, string mnem> : AttrDef<Call_Dialect, name> { let mnemonic = mnem; }

def Call_Buffer : Call_Attr<"Buffer", "buffer"> {
  let summary = "the buffer at a byte offset for each row of an arena";
  let parameters = (ins StringRefParameter<>:$arena, "int64_t":$offset);
  let assemblyFormat = "`<` $arena `,` $offset `>`";
  let genVerifyDecl = 1;
}

def Call_Rows : Call_Attr<"Rows", "rows"> {
  let summary = "a field of the step's rows";
  let parameters = (ins StringRefParameter<>:$field);
  let assemblyFormat = "`<` $field `>`";
  let genVerifyDecl = 1;
}

def Call_Kv : Call_Attr<"Kv", "kv"> {
  let summary = "the KV view of a group";
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$group);
  let assemblyFormat = "`<` $group `>`";
}

def Call_KvLayer : Call_Attr<"KvLayer", "kv_layer"> {
  let summary = "a layer in a KV group";
  let parameters = (ins "int64_t":$index);
  let assemblyFormat = "`<` $index `>`";
}

def Call_Null : Call_Attr<"Null", "null"> {
  let summary = "an optional operand that is absent";
}

def Call_Argument : Call_Attr<"Argument", "argument"> {
  let summary = "one slot of a kernel's argument block";
  let parameters = (ins StringRefParameter<>:$name, StringRefParameter<>:$type,
                        "::mlir::Attribute":$value);
  let assemblyFormat = "`<` $name `:` $type `=` $value `>`";
  let genVerifyDecl = 1;
}

class Call_Op<string mnemonic, list<Trait> traits = []> : Op<Call_Dialect, mnemonic, traits>;

def Call_EntryOp : Call_Op<"entry", [Graph_InModule, Symbol, IsolatedFromAbove, SingleBlock,
    NoTerminator, NoRegionArguments]> {
  let summary = "the calls of one phase, in order";
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

def Call_KernelOp : Call_Op<"kernel", [HasParent<"EntryOp">, Graph_Resolved,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "one call of a kernel";
  let arguments = (ins FlatSymbolRefAttr:$callee, StrAttr:$op_name, StrAttr:$family,
      ArrayAttr:$kernel_arguments, ArrayAttr:$extent, I64Attr:$grain, StrAttr:$section,
      OptionalAttr<I64Attr>:$layer, SymbolRefAttr:$resolution, Graph_Execution:$resolved_execution);
  let assemblyFormat = [{
    $callee $op_name `:` $family `arguments` $kernel_arguments `extent` $extent `grain` $grain
    `in` $section (`[` $layer^ `]`)? `resolved` `(` $resolution `,` $resolved_execution `)`
    attr-dict
  }];
  let hasVerifier = 1;
}

#endif // WRIT_IR_CALL
