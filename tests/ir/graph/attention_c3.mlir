// RUN: not writ-opt %s -o /dev/null 2>&1 | FileCheck %s
//
// graph.attention C3: the soft-cap is finite and positive
// CHECK: error: 'graph.attention' op has soft_cap -5.000000e+01; it is finite and positive

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
  graph.weight @we tensor "we" "f32" [8, 32] layout "plain"
  graph.weight @wn tensor "wn" "f32" [32] layout "plain"
  graph.weight @wf tensor "wf" "f64" [8] layout "plain"
  graph.resolutions @resolutions sha256 "0000000000000000000000000000000000000000000000000000000000000000" {
    graph.resolution @x "x" : "embedding" in "prefill" is #k
    graph.resolution @table "table" : "rope_table" in "prefill" is #k
    graph.resolution @norm "norm" : "rms_norm" in "prefill" is #k
    graph.resolution @turned "turned" : "rope" in "prefill" is #k
    graph.resolution @stored "stored" : "kv_store" in "prefill" is #k
    graph.resolution @seen "seen" : "attention" in "prefill" is #k
    graph.resolution @gated "gated" : "gate" in "prefill" is #k
    graph.resolution @sum "sum" : "residual" in "prefill" is #k
    graph.resolution @chosen "chosen" : "select_rows" in "prefill" is #k
    graph.resolution @codes "codes" : "quantize_activation" in "prefill" is #k
    graph.resolution @logits "logits" : "linear" in "prefill" is #k
    graph.resolution @sample "sample" : "sample" in "sample" is #k
  }
  graph.entry @prefill(%rows: !graph.rows, %kv0: !graph.kv<"f16", layers = 2, kv_heads = 1, head_dim = 32, window = 0>) {
    %x = graph.embedding "x" (%rows) weight @we scale "none" dimensions {n = 32, vocabulary = 8} in "prologue" resolved(@resolutions::@x, #k) : (!graph.rows) -> tensor<?x32xf32>
    %table = graph.rope_table "table" (%rows) frequencies @wf dimensions {rope_dims = 16} in "prologue" resolved(@resolutions::@table, #k) : (!graph.rows) -> tensor<?x16xf32>
    %norm = graph.rms_norm "norm" (%x) weight @wn epsilon 1.000000e-05 dimensions {n = 32, vectors = 1} in "layer"[0] resolved(@resolutions::@norm, #k) : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %turned = graph.rope "turned" (%norm, %table) pairing "interleaved" dimensions {head_dim = 32, heads = 1, rope_dims = 16} in "layer"[0] resolved(@resolutions::@turned, #k) : (tensor<?x32xf32>, tensor<?x16xf32>) -> tensor<?x32xf32>
    %stored = graph.kv_store "stored" (%rows, %turned, %norm, %kv0) kv @kv0[0] dimensions {head_dim = 32, kv_heads = 1} in "layer"[0] resolved(@resolutions::@stored, #k) : (!graph.rows, tensor<?x32xf32>, tensor<?x32xf32>, !graph.kv<"f16", layers = 2, kv_heads = 1, head_dim = 32, window = 0>) -> !graph.kv<"f16", layers = 2, kv_heads = 1, head_dim = 32, window = 0>
    %seen = graph.attention "seen" (%rows, %turned, %stored) kv @kv0[0] mask "causal" scale 1.250000e-01 soft_cap -5.000000e+01 dimensions {head_dim = 32, heads = 1, kv_heads = 1} in "layer"[0] resolved(@resolutions::@seen, #k) : (!graph.rows, tensor<?x32xf32>, !graph.kv<"f16", layers = 2, kv_heads = 1, head_dim = 32, window = 0>) -> tensor<?x32xf32>
    %gated = graph.gate "gated" (%seen, %norm) activation "silu" dimensions {n = 32} in "layer"[0] resolved(@resolutions::@gated, #k) : (tensor<?x32xf32>, tensor<?x32xf32>) -> tensor<?x32xf32>
    %sum = graph.residual "sum" (%x, %gated) dimensions {n = 32} in "layer"[0] resolved(@resolutions::@sum, #k) : (tensor<?x32xf32>, tensor<?x32xf32>) -> tensor<?x32xf32>
    %chosen = graph.select_rows "chosen" (%rows, %sum) dimensions {n = 32} in "epilogue" resolved(@resolutions::@chosen, #k) : (!graph.rows, tensor<?x32xf32>) -> tensor<?x32xf32>
    %codes = graph.quantize_activation "codes" (%chosen) dimensions {k = 32} in "epilogue" resolved(@resolutions::@codes, #k) : (tensor<?x32xf32>) -> tensor<?x32xi8, "i8_b32_sf32">
    %logits = graph.linear "logits" (%codes) weight @we dimensions {k = 32, n = 8} in "epilogue" resolved(@resolutions::@logits, #k) : (tensor<?x32xi8, "i8_b32_sf32">) -> tensor<?x8xf32>
    graph.return %logits, %stored : tensor<?x8xf32>, !graph.kv<"f16", layers = 2, kv_heads = 1, head_dim = 32, window = 0>
  }
  graph.host_op "sample" : "sample" dimensions {vocabulary = 8} resolved(@resolutions::@sample, #k)
}
