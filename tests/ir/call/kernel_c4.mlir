// RUN: not writ-opt %s -o /dev/null 2>&1 | FileCheck %s
//
// call.kernel C4: `resolved` names the resolution of this op in this phase.
// CHECK: error: 'call.kernel' op names @resolutions::@norm, which is no resolution of it

#k = #graph.execution<contract = "c_v0",
  contract_sha256 = "0000000000000000000000000000000000000000000000000000000000000000",
  provider = "k",
  map_sha256 = "1111111111111111111111111111111111111111111111111111111111111111",
  contract_oracle = "reference_k",
  production = "k",
  threaded = "k_threaded",
  partition = "row",
  extent = ["rows"],
  grain = 1,
  scheduling_alters_order = false,
  isa = ["scalar"],
  layouts = {bias = "plain", frequencies = "plain", weight = "plain"},
  arguments = [#graph.argument<"rows", "i64", "dim:rows">]>
module {
  graph.model "tiny" circuit "c" profile "p" target "cpu" vocabulary 8 context_length 16 result "logits" production true inputs {}
  graph.kv_group @kv0 0 !graph.kv<"f16", layers = 2, kv_heads = 1, head_dim = 32, window = 0>
  lowered.weight @we tensor "we" "f32" [8, 32] layout "plain" offset 0 bytes 1024
  lowered.memory row_arena 128 output_arena 256 logits_offset 0 weights 1024 kv_per_token 256
  graph.resolutions @resolutions sha256 "0000000000000000000000000000000000000000000000000000000000000000" {
    graph.resolution @x "x" : "embedding" in "prefill" is #k
    graph.resolution @stored "stored" : "kv_store" in "prefill" is #k
    graph.resolution @norm "norm" : "rms_norm" in "prefill" is #k
  }
  call.entry @prefill {
    call.kernel @k_threaded "x" : "embedding" arguments [#call.argument<"weight" : "weight" = @we>, #call.argument<"token" : "input" = #call.rows<"token">>, #call.argument<"out" : "output" = #call.buffer<"rows", 0>>, #call.argument<"rows" : "i64" = #call.rows<"count">>] extent ["rows"] grain 1 in "epilogue" resolved(@resolutions::@norm, #k)
    call.kernel @k_threaded "stored" : "kv_store" arguments [#call.argument<"k" : "input" = #call.buffer<"rows", 0>>, #call.argument<"kv" : "input" = #call.kv<@kv0>>, #call.argument<"layer" : "i64" = #call.kv_layer<0>>, #call.argument<"rows" : "i64" = #call.rows<"count">>] extent ["rows"] grain 1 in "epilogue" resolved(@resolutions::@stored, #k)
    call.kernel @k_threaded "norm" : "rms_norm" arguments [#call.argument<"out" : "output" = #call.buffer<"rows", 0>>, #call.argument<"bias" : "weight" = #call.null>, #call.argument<"rows" : "i64" = #call.rows<"count">>, #call.argument<"n" : "i64" = 32 : i64>, #call.argument<"epsilon" : "f32" = 1.000000e+00 : f32>] extent ["rows"] grain 1 in "epilogue" resolved(@resolutions::@norm, #k)
  }
}
