//===- GraphBase.td - dialect, types and attributes of graph --------------===//
#ifndef WRIT_IR_GRAPH_BASE
#define WRIT_IR_GRAPH_BASE

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"

def Graph_Dialect : Dialect {
  let name = "graph";
  let cppNamespace = "::writ::graph";
  let summary = "what is computed: requirements, resolutions, and ops with value semantics";
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

//===- attributes -----------------------------------------------------------===//

def Graph_Argument : AttrDef<Graph_Dialect, "Argument"> {
  let mnemonic = "argument";
  let summary = "one argument of a kernel: its name, its type and what it is bound to";
  let parameters = (ins StringRefParameter<>:$name, StringRefParameter<>:$type,
                        StringRefParameter<>:$bind);
  let assemblyFormat = "`<` $name `,` $type `,` $bind `>`";
}

def Graph_Execution : AttrDef<Graph_Dialect, "Execution"> {
  let mnemonic = "execution";
  let summary = "how one op runs: the contract and the provider that keeps it";
  let parameters = (ins
    StringRefParameter<>:$contract, StringRefParameter<>:$contract_sha256,
    StringRefParameter<>:$provider, StringRefParameter<>:$map_sha256,
    StringRefParameter<>:$contract_oracle, StringRefParameter<>:$production,
    StringRefParameter<>:$threaded, StringRefParameter<>:$partition,
    "::mlir::ArrayAttr":$extent, "int64_t":$grain,
    "::mlir::BoolAttr":$scheduling_alters_order, "::mlir::ArrayAttr":$isa,
    "::mlir::DictionaryAttr":$layouts, "::mlir::ArrayAttr":$arguments);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// One field that differs from `other`: what it is, and the two values as text.
    struct Difference { std::string what, mine, others; };
    std::optional<Difference> differenceFrom(ExecutionAttr other) const;
  }];
}

//===- types ------------------------------------------------------------------===//

def Graph_Rows : TypeDef<Graph_Dialect, "Rows"> {
  let mnemonic = "rows";
  let summary = "the rows of one step: token, position and sequence of each, and the output rows";
}

def Graph_Kv : TypeDef<Graph_Dialect, "Kv"> {
  let mnemonic = "kv";
  let summary = "the state of one KV group";
  let parameters = (ins StringRefParameter<>:$storage, "int64_t":$layers, "int64_t":$kv_heads,
                        "int64_t":$head_dim, "int64_t":$window);
  let assemblyFormat = "`<` $storage `,` struct($layers, $kv_heads, $head_dim, $window) `>`";
  let genVerifyDecl = 1;
}

/// [rows, width]: f32 and its like by element type; codes as i8 with the storage as encoding.
def Graph_Tensor : TensorOf<[AnyFloat, I8, I32]>;

//===- ops -----------------------------------------------------------------------===//

def Graph_InModule : HasParent<"::mlir::ModuleOp">;

def Graph_Resolved : OpInterface<"ResolvedOpInterface"> {
  let cppNamespace = "::writ::graph";
  let description = "an op that runs by a resolution; it carries the decision itself";
  let methods = [
    InterfaceMethod<"the circuit's name of the op", "::llvm::StringRef", "getOpName">,
    InterfaceMethod<"its entry in the resolution table", "::mlir::SymbolRefAttr", "getResolution">,
    InterfaceMethod<"the decision", "::writ::graph::ExecutionAttr", "getResolvedExecution">,
  ];
}

class Graph_Op<string mnemonic, list<Trait> traits = []> : Op<Graph_Dialect, mnemonic, traits>;

class Graph_KernelOp<string mnemonic, dag operands, dag attributes, dag outs, string head>
    : Graph_Op<mnemonic, [Graph_Resolved, HasParent<"EntryOp">,
                          DeclareOpInterfaceMethods<SymbolUserOpInterface>,
                          DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let arguments = !con(operands, attributes, (ins DictionaryAttr:$dimensions, StrAttr:$op_name,
      StrAttr:$section, OptionalAttr<I64Attr>:$layer, SymbolRefAttr:$resolution,
      Graph_Execution:$resolved_execution));
  let results = outs;
  let assemblyFormat = "$op_name " # head # " `dimensions` $dimensions "
      # "`in` $section (`[` $layer^ `]`)? `resolved` `(` $resolution `,` $resolved_execution `)` "
      # "attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let extraClassDefinition = [{
    void $cppClass::getAsmResultNames(::mlir::OpAsmSetValueNameFn setName) {
      setName((*this)->getResult(0), getOpName());
    }
  }];
}

#endif // WRIT_IR_GRAPH_BASE
