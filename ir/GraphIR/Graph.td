//===- Graph.td - the graph dialect: what is computed ---------------------===//
//
// Semantics and constraints: ir/spec.md. This file declares; GraphVerify.cpp checks.
//
//===----------------------------------------------------------------------===//
#ifndef WRIT_IR_GRAPH
#define WRIT_IR_GRAPH

include "ir/GraphIR/GraphBase.td"
include "mlir/IR/RegionKindInterface.td"

//===- module-level declarations, kept by every stage ----------------------===//

def Graph_ModelOp : Graph_Op<"model", [Graph_InModule]> {
  let summary = "the model and the inputs that it was compiled from";
  let arguments = (ins StrAttr:$model_name, StrAttr:$circuit, StrAttr:$profile, StrAttr:$target,
      I64Attr:$vocabulary, I64Attr:$context_length, StrAttr:$result, BoolAttr:$production,
      DictionaryAttr:$inputs);
  let assemblyFormat = [{
    $model_name `circuit` $circuit `profile` $profile `target` $target
    `vocabulary` $vocabulary `context_length` $context_length `result` $result
    `production` $production `inputs` $inputs attr-dict
  }];
  let hasVerifier = 1;
}

def Graph_KvGroupOp : Graph_Op<"kv_group", [Graph_InModule, Symbol]> {
  let summary = "layers that share one KV shape";
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$index, TypeAttrOf<Graph_Kv>:$shape);
  let assemblyFormat = "$sym_name $index $shape attr-dict";
  let hasVerifier = 1;
}

def Graph_WeightOp : Graph_Op<"weight", [Graph_InModule, Symbol]> {
  let summary = "a tensor of the model file, or a constant computed when compiling";
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$tensor, StrAttr:$storage,
      DenseI64ArrayAttr:$shape, OptionalAttr<StrAttr>:$layout,
      OptionalAttr<F64ElementsAttr>:$values);
  let assemblyFormat = [{
    $sym_name `tensor` $tensor $storage $shape (`layout` $layout^)? (`values` $values^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Graph_RequirementOp : Graph_Op<"requirement", [Graph_InModule, Symbol,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "what one op asks of a provider in one phase";
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$op_name, StrAttr:$family, StrAttr:$phase,
      StrAttr:$contract, StrAttr:$target, DictionaryAttr:$storage, DictionaryAttr:$dimensions,
      DictionaryAttr:$family_attributes, DictionaryAttr:$numbers, DictionaryAttr:$inputs,
      DictionaryAttr:$weights, StrAttr:$section, OptionalAttr<I64Attr>:$layer,
      OptionalAttr<FlatSymbolRefAttr>:$kv_group, OptionalAttr<I64Attr>:$kv_layer,
      OptionalAttr<StrArrayAttr>:$parts, OptionalAttr<StrAttr>:$unfused);
  let assemblyFormat = [{
    $sym_name $op_name `:` $family `in` $phase `contract` $contract `target` $target
    `storage` $storage `dimensions` $dimensions `attributes` $family_attributes `numbers` $numbers
    `inputs` $inputs `weights` $weights `section` $section (`[` $layer^ `]`)?
    (`kv` $kv_group^ `[` $kv_layer `]`)? (`parts` $parts^)?
    (`unfused` $unfused^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Graph_ResolutionsOp : Graph_Op<"resolutions", [Graph_InModule, Symbol, SymbolTable,
    SingleBlock, NoTerminator, NoRegionArguments]> {
  let summary = "the decisions of resolve-providers, sealed by their digest";
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$sha256);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `sha256` $sha256 attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

def Graph_ResolutionOp : Graph_Op<"resolution", [Symbol, HasParent<"ResolutionsOp">]> {
  let summary = "one op in one phase: its contract and its provider";
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$op_name, StrAttr:$family, StrAttr:$phase,
      Graph_Execution:$execution);
  let assemblyFormat = "$sym_name $op_name `:` $family `in` $phase `is` $execution attr-dict";
  let hasVerifier = 1;
}

def Graph_HostOp : Graph_Op<"host_op", [Graph_InModule, Graph_Resolved]> {
  let summary = "an op that runs after the step, called by the runtime";
  let arguments = (ins StrAttr:$op_name, StrAttr:$family, DictionaryAttr:$dimensions,
      SymbolRefAttr:$resolution, Graph_Execution:$resolved_execution);
  let assemblyFormat = [{
    $op_name `:` $family `dimensions` $dimensions
    `resolved` `(` $resolution `,` $resolved_execution `)` attr-dict
  }];
  let hasVerifier = 1;
}

def Graph_EntryOp : Graph_Op<"entry", [Graph_InModule, Symbol, IsolatedFromAbove,
    SingleBlockImplicitTerminator<"ReturnOp">,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "the ops of one phase, in order";
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
}

def Graph_ReturnOp : Graph_Op<"return", [Terminator, HasParent<"EntryOp">]> {
  let summary = "the logits of the output rows, and the KV states after the step";
  let arguments = (ins Variadic<AnyType>:$results);
  let assemblyFormat = "($results^ `:` type($results))? attr-dict";
  let builders = [OpBuilder<(ins), [{}]>];
}

//===- kernel ops ----------------------------------------------------------===//

def Graph_EmbeddingOp : Graph_KernelOp<"embedding", (ins Graph_Rows:$rows),
    (ins FlatSymbolRefAttr:$weight, StrAttr:$scale), (outs Graph_Tensor:$out),
    "`(` $rows `)` `weight` $weight `scale` $scale"> {
  let summary = "one decoded row of the weight for each token";
}

def Graph_RmsNormOp : Graph_KernelOp<"rms_norm", (ins Graph_Tensor:$input),
    (ins FlatSymbolRefAttr:$weight, F64Attr:$epsilon), (outs Graph_Tensor:$out),
    "`(` $input `)` `weight` $weight `epsilon` $epsilon"> {
  let summary = "root-mean-square normalisation of each vector of a row";
}

def Graph_LayerNormOp : Graph_KernelOp<"layer_norm", (ins Graph_Tensor:$input),
    (ins FlatSymbolRefAttr:$weight, OptionalAttr<FlatSymbolRefAttr>:$bias, F64Attr:$epsilon),
    (outs Graph_Tensor:$out),
    "`(` $input `)` `weight` $weight (`bias` $bias^)? `epsilon` $epsilon"> {
  let summary = "normalisation of each vector of a row by its mean and variance";
}

def Graph_L2NormOp : Graph_KernelOp<"l2_norm", (ins Graph_Tensor:$input),
    (ins F64Attr:$epsilon), (outs Graph_Tensor:$out), "`(` $input `)` `epsilon` $epsilon"> {
  let summary = "each vector of a row over its length";
}

def Graph_QuantizeActivationOp : Graph_KernelOp<"quantize_activation", (ins Graph_Tensor:$input),
    (ins), (outs Graph_Tensor:$out), "`(` $input `)`"> {
  let summary = "integer codes of each row, with a scale for each block";
}

def Graph_LinearOp : Graph_KernelOp<"linear", (ins Graph_Tensor:$activation),
    (ins FlatSymbolRefAttr:$weight, OptionalAttr<FlatSymbolRefAttr>:$bias),
    (outs Graph_Tensor:$out), "`(` $activation `)` `weight` $weight (`bias` $bias^)?"> {
  let summary = "each row times the transposed weight, plus the bias";
}

def Graph_RopeTableOp : Graph_KernelOp<"rope_table", (ins Graph_Rows:$rows),
    (ins FlatSymbolRefAttr:$frequencies), (outs Graph_Tensor:$out),
    "`(` $rows `)` `frequencies` $frequencies"> {
  let summary = "cosines and sines of each row's position";
}

def Graph_RopeOp : Graph_KernelOp<"rope", (ins Graph_Tensor:$input, Graph_Tensor:$table),
    (ins StrAttr:$pairing), (outs Graph_Tensor:$out), "`(` $input `,` $table `)` `pairing` $pairing"> {
  let summary = "rotary position embedding of each head";
}

def Graph_KvStoreOp : Graph_KernelOp<"kv_store",
    (ins Graph_Rows:$rows, Graph_Tensor:$k, Graph_Tensor:$v, Graph_Kv:$kv),
    (ins FlatSymbolRefAttr:$kv_group, I64Attr:$kv_layer), (outs Graph_Kv:$new_kv),
    "`(` $rows `,` $k `,` $v `,` $kv `)` `kv` $kv_group `[` $kv_layer `]`"> {
  let summary = "writes keys and values of one layer at the rows' positions";
}

def Graph_AttentionOp : Graph_KernelOp<"attention",
    (ins Graph_Rows:$rows, Graph_Tensor:$q, Graph_Kv:$kv),
    (ins FlatSymbolRefAttr:$kv_group, I64Attr:$kv_layer, StrAttr:$mask, F64Attr:$scale,
        OptionalAttr<F64Attr>:$soft_cap, OptionalAttr<FlatSymbolRefAttr>:$sinks),
    (outs Graph_Tensor:$out),
    "`(` $rows `,` $q `,` $kv `)` `kv` $kv_group `[` $kv_layer `]` `mask` $mask `scale` $scale "
    "(`soft_cap` $soft_cap^)? (`sinks` $sinks^)?"> {
  let summary = "attention of each row to the positions that its mask allows";
}

def Graph_GateOp : Graph_KernelOp<"gate", (ins Graph_Tensor:$gate, Graph_Tensor:$up),
    (ins StrAttr:$activation), (outs Graph_Tensor:$out),
    "`(` $gate `,` $up `)` `activation` $activation"> {
  let summary = "the activation of one operand times the other";
}

def Graph_ActivationOp : Graph_KernelOp<"activation", (ins Graph_Tensor:$input),
    (ins StrAttr:$activation), (outs Graph_Tensor:$out), "`(` $input `)` `activation` $activation"> {
  let summary = "the activation of each element";
}

def Graph_SoftCapOp : Graph_KernelOp<"soft_cap", (ins Graph_Tensor:$input),
    (ins F64Attr:$cap), (outs Graph_Tensor:$out), "`(` $input `)` `cap` $cap"> {
  let summary = "each element, smoothly kept within the cap";
}

def Graph_ResidualOp : Graph_KernelOp<"residual", (ins Graph_Tensor:$a, Graph_Tensor:$b),
    (ins), (outs Graph_Tensor:$out), "`(` $a `,` $b `)`"> {
  let summary = "sum of two rows";
}

def Graph_SelectRowsOp : Graph_KernelOp<"select_rows",
    (ins Graph_Rows:$rows, Graph_Tensor:$input), (ins), (outs Graph_Tensor:$out),
    "`(` $rows `,` $input `)`"> {
  let summary = "the rows whose logits are wanted";
}

//===- fusions: each is its parts, one after the other ---------------------===//

def Graph_RmsNormQuantizeOp : Graph_KernelOp<"rms_norm_quantize", (ins Graph_Tensor:$input),
    (ins FlatSymbolRefAttr:$weight, F64Attr:$epsilon), (outs Graph_Tensor:$out),
    "`(` $input `)` `weight` $weight `epsilon` $epsilon"> {
  let summary = "integer codes of each row, normalised by its root mean square";
}

def Graph_GateQuantizeOp : Graph_KernelOp<"gate_quantize",
    (ins Graph_Tensor:$gate, Graph_Tensor:$up), (ins StrAttr:$activation),
    (outs Graph_Tensor:$out), "`(` $gate `,` $up `)` `activation` $activation"> {
  let summary = "integer codes of the activation of one operand times the other";
}

#endif // WRIT_IR_GRAPH
