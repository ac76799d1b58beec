// RUN: not writ-opt %s -o /dev/null 2>&1 | FileCheck %s
//
// lowered.memory C3: Weights do not overlap and stand in the order of their offsets.
// CHECK: error: 'lowered.weight' op begins at 64, before the end of an earlier weight at 1024

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
  lowered.weight @wn tensor "wn" "f32" [32] layout "plain" offset 64 bytes 128
  lowered.memory row_arena 128 output_arena 256 logits_offset 0 weights 1024 kv_per_token 256
  graph.resolutions @resolutions sha256 "0000000000000000000000000000000000000000000000000000000000000000" {
    graph.resolution @x "x" : "embedding" in "prefill" is #k
    graph.resolution @stored "stored" : "kv_store" in "prefill" is #k
    graph.resolution @chosen "chosen" : "select_rows" in "prefill" is #k
    graph.resolution @codes "codes" : "quantize_activation" in "prefill" is #k
    graph.resolution @logits "logits" : "linear" in "prefill" is #k
  }
  lowered.entry @prefill {
    %x = lowered.buffer offset 0 bytes 128 live [0, 2] : !lowered.buffer<"rows", "f32", 32>
    lowered.embedding "x" ins() outs(%x : !lowered.buffer<"rows", "f32", 32>) weights {weight = @we} dimensions {n = 32, vocabulary = 8} attributes {scale = "none"} numbers {} in "prologue" resolved(@resolutions::@x, #k)
    lowered.kv_store "stored" ins(%x, %x : !lowered.buffer<"rows", "f32", 32>, !lowered.buffer<"rows", "f32", 32>) outs() weights {} dimensions {head_dim = 32, kv_heads = 1} attributes {} numbers {} kv @kv0[0] in "layer"[0] resolved(@resolutions::@stored, #k)
    %chosen = lowered.buffer offset 64 bytes 128 live [2, 3] : !lowered.buffer<"outputs", "f32", 32>
    lowered.select_rows "chosen" ins(%x : !lowered.buffer<"rows", "f32", 32>) outs(%chosen : !lowered.buffer<"outputs", "f32", 32>) weights {} dimensions {n = 32} attributes {} numbers {} in "epilogue" resolved(@resolutions::@chosen, #k)
    %codes = lowered.buffer offset 192 bytes 64 live [3, 4] : !lowered.buffer<"outputs", "i8_b32_sf32", 32>
    lowered.quantize_activation "codes" ins(%chosen : !lowered.buffer<"outputs", "f32", 32>) outs(%codes : !lowered.buffer<"outputs", "i8_b32_sf32", 32>) weights {} dimensions {k = 32} attributes {} numbers {} in "epilogue" resolved(@resolutions::@codes, #k)
    %logits = lowered.buffer offset 0 bytes 32 live [4, 4] : !lowered.buffer<"outputs", "f32", 8>
    lowered.linear "logits" ins(%codes : !lowered.buffer<"outputs", "i8_b32_sf32", 32>) outs(%logits : !lowered.buffer<"outputs", "f32", 8>) weights {weight = @we} dimensions {k = 32, n = 8} attributes {} numbers {} in "epilogue" resolved(@resolutions::@logits, #k)
  }
}
